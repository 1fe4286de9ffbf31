import Testing
import Vitrine

@testable import VitrineSimulation

/// The order of overlapping changes.
@Suite struct OverlappingTests {
  /// The kinds of changes that the log got during `body`, a list for each frame.
  private func frames(_ store: RecordedStore, _ body: () throws -> Void) rethrows -> [[String]] {
    let began = store.world.disk.operationCount
    try body()
    return store.world.disk.lastOperations(since: began).map(\.logged).filter { !$0.isEmpty }.map { changes in
      changes.map { change in
        switch change {
        case .put: "put"
        case .remove: "remove"
        case .segmentOpened: "opened"
        case .segmentSealed: "sealed"
        default: "other"
        }
      }
    }
  }

  @Test(arguments: [40, 3000]) func changeIsFoundInItsFrame(_ byteCount: Int) throws {
    let store = try RecordedStore()
    try store.put("a", RecordedStore.bytes(500, 1))
    // Small synced puts are stored with the log, one with each of the two write calls.
    #expect(try frames(store) { try store.put("b", RecordedStore.bytes(byteCount, 2), synced: true) } == [["put"]])
    #expect(try frames(store) { try store.remove("b") } == [["remove"]])
    #expect(try frames(store) { try store.remove("nothing") } == [])
    #expect(try frames(store) { try store.flush() } == [])
  }

  /// A put's own frame is not the first that its thread stores.
  @Test func frameOfASegmentIsNotTakenForAChange() throws {
    let store = try RecordedStore()
    var number = 0
    var found: [[String]] = []
    while number < 400, !found.flatMap({ $0 }).contains("opened") {
      number += 1
      found = try frames(store) { try store.put("k", RecordedStore.bytes(4000, number)) }
    }
    #expect(found.count > 1 && found.last == ["put"] && found.dropLast().allSatisfy { !$0.contains("put") })
  }

  /// Changes from several threads, a synced one with its payload in the log among them, are at the places of their
  /// frames in the history.
  @Test func overlappingChangesHaveAnOrder() throws {
    let store = try RecordedStore()
    try store.put("a", RecordedStore.bytes(500, 1))
    let bystanders = [
      RecordedStore.Bystander.put("x", RecordedStore.bytes(3000, 2), synced: true),
      .remove("a", synced: false),
      .put("y", RecordedStore.bytes(90, 3), synced: true),
    ]
    let found = try frames(store) { try store.overlap(bystanders) { try store.flush() } }
    #expect(found == [["put"], ["remove"], ["put"]])
    #expect(store.isUncertain == false)
    let steps = store.history.steps.suffix(3)
    #expect(steps.map { $0.changes.map(\.description).joined() }.map { $0.prefix(3) } == ["put", "rem", "put"])
    #expect(steps.allSatisfy { $0.acknowledged != nil })
  }
}
