#if os(Linux)
  /// The transfers of each server that wait for other transfers to end. libcurl also limits connections, but a transfer
  /// that waits here needs no handle and no buffer.
  ///
  /// Memory is O(n) in the queued transfers, including those that ended while they waited. For one thread at a time.
  struct WaitingTransfers {
    private struct Line {
      var runningCount = 0
      var waiting: [CurlTransfer] = []
      var begin = 0
    }

    /// The number of transfers that one HTTP/2 connection carries at once. Most servers allow it.
    private static let mostStreams = 100

    private var lines: [WebAddress.Origin: Line] = [:]

    /// Returns whether a transfer may begin now. If not, adds it to the waiting ones.
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

    /// Returns the next transfer to begin after one has ended, or nil.
    mutating func next(after transfer: CurlTransfer) -> CurlTransfer? {
      // A transfer that ends while it waits stays in the queue, and is skipped later.
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
