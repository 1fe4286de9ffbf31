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
      #expect(transfers.map { waiting.admits($0, connectionsPerHost: 2) } == [true, true, false, false, false, false])
      let other = Transfer(try origin("http://b.example/"))
      #expect(waiting.admits(other, connectionsPerHost: 2))
      // A transfer that was canceled while it waited has no turn.
      transfers[2].isEnded = true
      #expect(waiting.next(after: transfers[2]) == nil)
      for (ended, next) in [(0, 3), (1, 4), (3, 5)] {
        transfers[ended].isEnded = true
        #expect(waiting.next(after: transfers[ended]) === transfers[next])
        #expect(transfers[next].holdsPlace && !transfers[ended].holdsPlace)
      }
      for last in [4, 5] { #expect(waiting.next(after: transfers[last]) == nil) }
      #expect(waiting.queuedCount(place) == 0 && waiting.admits(Transfer(place), connectionsPerHost: 2))
    }

    /// An app that scrolls fast cancels most transfers while a slow server holds all places.
    @Test func canceledTransfersLeaveTheQueue() throws {
      let place = try origin("http://a.example/")
      var waiting = WaitingTransfers<Transfer>()
      let running = (0..<2).map { _ in Transfer(place) }
      for transfer in running { #expect(waiting.admits(transfer, connectionsPerHost: 2)) }
      var kept: [Transfer] = []
      for number in 0..<10_000 {
        let transfer = Transfer(place)
        #expect(!waiting.admits(transfer, connectionsPerHost: 2))
        if number % 1000 == 999 {
          kept.append(transfer)
        } else {
          transfer.isEnded = true
          #expect(waiting.next(after: transfer) == nil)
        }
        #expect(waiting.queuedCount(place) <= 100)
      }
      var last = running[0]
      for transfer in kept {
        last.isEnded = true
        #expect(waiting.next(after: last) === transfer)
        last = transfer
      }
    }
  }
#endif
