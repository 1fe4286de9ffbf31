#if os(Linux)
  /// The transfers of each server that wait for others to end. libcurl limits the connections by itself, but a waiting
  /// transfer here has no handle and no buffer.
  ///
  /// Memory is O(n) in the transfers that have not ended. For one thread at a time.
  struct WaitingTransfers {
    private struct Line {
      var runningCount = 0
      var waiting: [CurlTransfer] = []
      var begin = 0
    }

    /// The transfers that one connection of HTTP/2 carries at once, as most servers have it.
    private static let mostStreams = 100

    private var lines: [WebAddress.Origin: Line] = [:]

    /// Returns whether a transfer may begin now. Otherwise it waits.
    mutating func admits(_ transfer: CurlTransfer, _ settings: CurlSettings) -> Bool {
      let origin = transfer.place
      let limit =
        origin.scheme == "https"
        ? max(settings.connectionsPerHost, WaitingTransfers.mostStreams) : settings.connectionsPerHost
      if lines[origin, default: Line()].runningCount >= limit {
        lines[origin]?.waiting.append(transfer)
        return false
      }
      lines[origin, default: Line()].runningCount += 1
      transfer.holdsPlace = true
      return true
    }

    /// Returns the transfer that takes the place of one that has ended, or nil.
    mutating func next(after transfer: CurlTransfer) -> CurlTransfer? {
      // A transfer that ends while it waits stays in line, and is passed over later.
      guard transfer.holdsPlace, var line = lines[transfer.place] else { return nil }
      transfer.holdsPlace = false
      defer { lines[transfer.place] = line.runningCount == 0 ? nil : line }
      while line.begin < line.waiting.count {
        let next = line.waiting[line.begin]
        line.begin += 1
        if line.begin > 32, line.begin > line.waiting.count / 2 {
          line.waiting.removeFirst(line.begin)
          line.begin = 0
        }
        if next.isEnded { continue }
        next.holdsPlace = true
        return next
      }
      line.runningCount -= 1
      return nil
    }
  }
#endif
