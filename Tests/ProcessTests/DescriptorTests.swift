import Foundation
import Testing
import Vitrine

/// A process that has no descriptors left.
@Suite struct DescriptorTests {
  let folder: TestFolder

  init() throws { folder = try TestFolder() }

  @Test(arguments: [true, false])
  func openingWithoutDescriptorsFailsAndLosesNothing(_ isReadOnly: Bool) throws {
    let writer = try StoreProcess()
    try writer.ask("open \(folder.store)")
    #expect(try writer.ask("puts key 60 3000") == "done")
    writer.kill()
    let process = try StoreProcess()
    var refusals = 0
    for more in 0..<200 {
      // A new process for each: an opening for writing changes the store.
      #expect(try process.ask("spare \(more)") == "done")
      let answer = try process.ask("open \(folder.store)\(isReadOnly ? " readonly" : " wait=5000")")
      if answer == "done" { break }
      #expect(answer == "error system 24", "with \(more) descriptors")
      refusals += 1
    }
    #expect((5..<200).contains(refusals))
    #expect(try process.ask("has key 60 3000") == "done")
    try process.ask("spare 256")
    #expect(try process.ask("verify") == "done")
    #expect(try process.ask("close") == "done")
    let store = try CacheStore.open(at: folder.store, options: StoreOptions(waitForLockMilliseconds: 5000))
    #expect(store.count == 60 && store.statistics().lastOpen.droppedCount == 0)
    #expect(try store.verify().isOK)
    try store.close()
  }

  @Test func putWithoutDescriptorsForASegmentFailsAndLaterOnesSucceed() throws {
    let process = try StoreProcess()
    try process.ask("open \(folder.store)")
    #expect(try process.ask("puts before 5 3000") == "done")
    try process.ask("spare 0")
    #expect(try process.ask("puts during 200 3000") == "error system 24")
    // Stored entries stay readable; removals and small changes work.
    #expect(try process.ask("has before 5 3000") == "done")
    #expect(try process.ask("remove before/0") == "done")
    try process.ask("spare 256")
    #expect(try process.ask("puts after 100 3000") == "done")
    #expect(try process.ask("has after 100 3000") == "done")
    #expect(try process.ask("verify") == "done")
    process.kill()
    let store = try CacheStore.open(at: folder.store, options: StoreOptions(waitForLockMilliseconds: 5000))
    #expect(store.bytes("before/0") == nil && store.bytes("before/1") != nil && store.bytes("after/99") != nil)
    #expect(try store.verify().isOK)
    try store.close()
  }

  @Test func readerThatCannotMapNewSegmentsKeepsItsState() throws {
    let writer = try StoreProcess()
    try writer.ask("open \(folder.store)")
    #expect(try writer.ask("puts old 5 3000") == "done")
    let reader = try StoreProcess()
    #expect(try reader.ask("open \(folder.store) readonly") == "done")
    #expect(try writer.ask("puts new 200 3000") == "done")
    try reader.ask("spare 0")
    #expect(try reader.ask("refresh") == "error system 24")
    #expect(try reader.ask("has old 5 3000") == "done")
    #expect(try reader.ask("get new/0") == "none")
    try reader.ask("spare 256")
    #expect(try reader.ask("refresh") == "new")
    #expect(try reader.ask("has new 200 3000") == "done")
    #expect(try reader.ask("verify") == "done")
  }
}
