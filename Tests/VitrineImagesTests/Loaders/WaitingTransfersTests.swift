#if os(Linux)
  import Testing

  @testable import VitrineImages

  @Suite struct WaitingTransfersTests {
    private final class Transfer: PlacedTransfer {
      let place: WebAddress.Origin
      var holdsPlace = false
      var isEnded = false

      init(_ place: WebAddress.Origin) { self.place = place }
    }

    private func origin(_ address: String) throws -> WebAddress.Origin {
      try #require(WebAddress(LoadURL(address.utf8))).origin
    }

    @Test func transfersBeginInTheirOrder() throws {
      let place = try origin("http://a.example/")
      var waiting = WaitingTransfers<Transfer>()
      let transfers = (0..<6).map { _ in Transfer(place) }
      func admits(_ transfer: Transfer) -> Bool { waiting.admits(transfer, connectionsPerHost: 2) }
      func next(after transfer: Transfer) -> Transfer? { waiting.next(after: transfer) }
      #expect(transfers.map(admits) == [true, true, false, false, false, false])
      let other = Transfer(try origin("http://b.example/"))
      #expect(admits(other))
      // A transfer that was canceled while it waited has no turn.
      transfers[2].isEnded = true
      #expect(next(after: transfers[2]) == nil)
      for (ended, begun) in [(0, 3), (1, 4), (3, 5)] {
        transfers[ended].isEnded = true
        #expect(next(after: transfers[ended]) === transfers[begun])
        #expect(transfers[begun].holdsPlace && !transfers[ended].holdsPlace)
      }
      for last in [4, 5] { #expect(next(after: transfers[last]) == nil) }
      #expect(waiting.queuedCount(place) == 0 && admits(Transfer(place)))
    }

    /// An app that scrolls fast cancels most transfers while a slow server holds all places.
    @Test func canceledTransfersLeaveTheQueue() throws {
      let place = try origin("http://a.example/")
      var waiting = WaitingTransfers<Transfer>()
      func admits(_ transfer: Transfer) -> Bool { waiting.admits(transfer, connectionsPerHost: 2) }
      func next(after transfer: Transfer) -> Transfer? { waiting.next(after: transfer) }
      let running = (0..<2).map { _ in Transfer(place) }
      for transfer in running { #expect(admits(transfer)) }
      var kept: [Transfer] = []
      for number in 0..<10_000 {
        let transfer = Transfer(place)
        #expect(!admits(transfer))
        if number % 1000 == 999 {
          kept.append(transfer)
        } else {
          transfer.isEnded = true
          #expect(next(after: transfer) == nil)
        }
        #expect(waiting.queuedCount(place) <= 100)
      }
      var last = running[0]
      for transfer in kept {
        last.isEnded = true
        #expect(next(after: last) === transfer)
        last = transfer
      }
    }
  }
#endif
