#if os(Linux)
  /// A transfer that may have to wait for a place.
  protocol PlacedTransfer: AnyObject {
    /// The server that it asks.
    var place: WebAddress.Origin { get }
    /// Whether it counts among the running transfers of its server. Only ``WaitingTransfers`` changes it.
    var holdsPlace: Bool { get set }
    var isEnded: Bool { get }
  }

  /// The transfers of each server that wait for other transfers to end. libcurl also limits connections, but a transfer
  /// that waits here needs no handle and no buffer.
  ///
  /// Memory is O(n) in the waiting transfers. For one thread at a time.
  struct WaitingTransfers<Transfer: PlacedTransfer> {
    private struct Line {
      var runningCount = 0
      var waiting: [Transfer] = []
      var begin = 0
      /// The number of transfers in the queue that have ended.
      var endedCount = 0

      /// Removes the ended transfers once they are most of a long queue, so each end costs O(1) on average.
      mutating func noteEnd() {
        endedCount += 1
        guard endedCount > 32, endedCount > (waiting.count - begin) / 2 else { return }
        waiting = waiting[begin...].filter { !$0.isEnded }
        (begin, endedCount) = (0, 0)
      }
    }

    /// The number of transfers that one HTTP/2 connection carries at once. Most servers allow it.
    private static var mostStreams: Int { 100 }

    private var lines: [WebAddress.Origin: Line] = [:]

    /// Returns whether a transfer may begin now. If not, adds it to the waiting ones.
    mutating func admits(_ transfer: Transfer, connectionsPerHost: Int) -> Bool {
      let origin = transfer.place
      let limit =
        origin.scheme == "https" ? max(connectionsPerHost, WaitingTransfers.mostStreams) : connectionsPerHost
      if lines[origin, default: Line()].runningCount >= limit {
        lines[origin]?.waiting.append(transfer)
        return false
      }
      lines[origin, default: Line()].runningCount += 1
      transfer.holdsPlace = true
      return true
    }

    /// The number of queued transfers to an origin, including ended ones.
    func queuedCount(_ origin: WebAddress.Origin) -> Int { lines[origin].map { $0.waiting.count - $0.begin } ?? 0 }

    /// Returns the next transfer to begin after one has ended, or nil.
    mutating func next(after transfer: Transfer) -> Transfer? {
      guard transfer.holdsPlace else {
        lines[transfer.place]?.noteEnd()
        return nil
      }
      guard var line = lines[transfer.place] else { return nil }
      transfer.holdsPlace = false
      defer { lines[transfer.place] = line.runningCount == 0 ? nil : line }
      while line.begin < line.waiting.count {
        let next = line.waiting[line.begin]
        line.begin += 1
        if line.begin > 32, line.begin > line.waiting.count / 2 {
          line.waiting.removeFirst(line.begin)
          line.begin = 0
        }
        if next.isEnded {
          line.endedCount -= 1
          continue
        }
        next.holdsPlace = true
        return next
      }
      line.runningCount -= 1
      return nil
    }
  }
#endif
