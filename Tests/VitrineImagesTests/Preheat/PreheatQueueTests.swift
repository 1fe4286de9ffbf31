import Testing

@testable import VitrineImages

@Suite struct PreheatQueueTests {
  private func requests(_ numbers: Range<Int>) -> [PictureRequest] { numbers.map { PictureRequest("\($0)") } }

  @Test func waitingRequestsStayWithinTheirLimit() {
    let most = PreheatQueue.mostWaiting
    var queue = PreheatQueue(limit: 1)
    // If one call adds too many, the first ones wait.
    queue.add(requests(0..<most + 500), .memory, notBefore: 0)
    #expect(queue.waitingRequests.map(\.url) == (0..<most).map { "\($0)" })
    // If several calls add too many, the last ones wait. A waiting request is not added again.
    queue.add(requests(most - 10..<most) + requests(most..<most + 30), .memory, notBefore: 0)
    #expect(queue.waitingRequests.map(\.url) == (30..<most + 30).map { "\($0)" })
    #expect(queue.begin(at: 0)?.request.url == "30")
    _ = queue.removeAll()
    #expect(queue.begin(at: 0) == nil && queue.runningCount == 0)
  }

  @Test func waitingRequestKeepsItsTurnWhenAddedAgain() throws {
    var queue = PreheatQueue(limit: 9)
    queue.add(requests(0..<3), .store, notBefore: 10)
    queue.add([PictureRequest("0"), PictureRequest("2"), PictureRequest("3")], .memory, notBefore: 20)
    #expect(queue.nextTime == 10 && queue.begin(at: 9) == nil)
    let runs = (0..<3).compactMap { _ in queue.begin(at: 10) }
    #expect(runs.map(\.request.url) == ["0", "1", "2"] && runs.map(\.destination) == [.memory, .store, .memory])
    #expect(runs.allSatisfy { $0.request.priority == .preheating })
    #expect(queue.begin(at: 19) == nil && queue.nextTime == 20 && queue.begin(at: 20)?.request.url == "3")
  }

  @Test func restartedLoadIsNotEndedByItsFirstRun() throws {
    var queue = PreheatQueue(limit: 2)
    queue.add(requests(0..<1), .memory, notBefore: 0)
    let begun = queue.begin(at: 0)
    let first = try #require(begun)
    let given = queue.giveUp([first.wish])
    let stop = try #require(given)
    #expect(queue.end(givenUpBy: stop).isEmpty && queue.runningCount == 0)
    queue.add(requests(0..<1), .memory, notBefore: 0)
    let anew = queue.begin(at: 0)
    let second = try #require(anew)
    #expect(queue.end(first, at: .memory) == nil && queue.runningCount == 1)
    #expect(!queue.note(Task {}, of: first) && queue.note(Task {}, of: second))
    #expect(queue.giveUp([PictureRequest("9")].map(Preheater.Wish.init)) == nil)
  }

  @Test func limitBelowOneAllowsOneLoad() {
    for limit in [Int.min, 0, 1] {
      var queue = PreheatQueue(limit: limit)
      queue.add(requests(0..<2), .memory, notBefore: 0)
      #expect(queue.begin(at: 0) != nil && queue.begin(at: 0) == nil && queue.nextTime == nil)
    }
  }
}
