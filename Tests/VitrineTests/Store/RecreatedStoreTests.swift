import Foundation
import Testing

@testable import Vitrine

/// Stores that are recreated in place of a removed folder.
@Suite struct RecreatedStoreTests {
  private let lost: LostFolder

  init() throws { lost = try LostFolder() }

  @Test func borrowedBytesStayWhileTheStoreIsRecreated() throws {
    let store = try lost.open(recreates: true)
    let value = noise(90_000, 4)
    try store.put(value, for: "large")
    for round in 0..<12 {
      let isSame = store.get("large") { bytes in
        try? lost.strike(.deleted)
        // Noticed by a removal, and again by a put.
        if round % 2 == 0 { _ = try? store.remove("none") } else { try? store.put([1], for: "none") }
        #expect(store.bytes("large") == nil)
        for number in 0..<40 { try? store.put(noise(9000, UInt64(number)), for: "\(number)") }
        return bytes.withUnsafeBytes { $0.elementsEqual(value) }
      }
      #expect(isSame == true)
      try store.put(value, for: "large")
    }
    #expect(storeError { try store.close() } == .storeRemoved)
  }

  @Test func aStoreThatAnotherOpeningHasMadeIsOpenedOnceItsLockIsFree() throws {
    let store = try lost.open(recreates: true)
    try FileManager.default.moveItem(atPath: lost.folder.store, toPath: lost.folder.path + "/gone")
    let other = try lost.world.open(lost.folder.store)
    try other.put([3], for: "theirs")
    #expect(storeError { try store.remove("k") } == .locked(processID: getpid()))
    // Refused: no get returns it, and untouched entries may still be read.
    #expect(store.bytes("k") == nil && store.bytes("untouched") != nil)
    #expect(other.bytes("theirs") == [3])
    try other.close()
    #expect(try !store.remove("k"))
    #expect(store.bytes("theirs") == [3] && store.bytes("untouched") == nil)
    try? store.close()
  }

  /// The other opening made changes that this one could not see, and closed.
  @Test func aFolderInWhichAnotherOpeningHasWorkedSinceIsKept() throws {
    let store = try lost.open(recreates: true)
    try Files.remove(lost.folder.store + "/LOCK")
    let other = try lost.world.open(lost.folder.store)
    try other.put([3], for: "theirs", options: PutOptions(durability: .synced))
    try other.close()
    #expect(try store.remove("k"))
    #expect(store.bytes("theirs") == [3] && store.bytes("untouched") == Array("untouched".utf8))
    try? store.close()
  }

  /// Both stores have segments in the same folder, whose names must differ.
  @Test(arguments: [false, true]) func aLateBodyRemovesNoFileOfTheNextStore(_ isOfAnother: Bool) throws {
    let store = try lost.open(recreates: true)
    let writer = try store.writer(for: "late")
    try writer.write(noise(100_000, 1))
    try Files.remove(lost.folder.store + "/LOCK")
    let other = isOfAnother ? try lost.world.open(lost.folder.store) : nil
    let next = other ?? store
    for number in UInt64(0)..<30 { _ = storeError { try next.put(noise(50_000, number), for: "\(number)") } }
    if other == nil { try store.remove("none") }
    for number in UInt64(0)..<30 { try next.put(noise(50_000, number), for: "\(number)") }
    writer.abandon()
    #expect(try next.verify().isOK)
    try? store.close()
    try? other?.close()
    let again = try lost.world.open(lost.folder.store)
    for number in UInt64(0)..<30 { #expect(again.bytes("\(number)") == noise(50_000, number)) }
    #expect(try again.verify().isOK)
    try again.close()
  }

  /// Threads that still use the removed store may open its segments by their names.
  @Test func segmentsOfTheNextStoreHaveOtherNames() throws {
    let store = try lost.open(recreates: true)
    let segments = lost.folder.store + "/segments"
    let before = try Set(Files.below(segments))
    try Files.remove(lost.folder.store + "/LOCK")
    try store.remove("none")
    try store.put(noise(50_000), for: "new")
    let after = try Set(Files.below(segments))
    #expect(!before.isEmpty && !after.isEmpty && before.isDisjoint(with: after))
    #expect(store.bytes("new") == noise(50_000) && store.bytes("untouched") == nil)
    try? store.close()
  }

  @Test func onlyOneOfTwoHandlesRecreatesTheStore() throws {
    for round in 0..<20 {
      let first = try lost.open(recreates: true)
      try FileManager.default.moveItem(atPath: lost.folder.store, toPath: lost.folder.path + "/first")
      let second = try lost.open(recreates: true)
      try FileManager.default.moveItem(atPath: lost.folder.store, toPath: lost.folder.path + "/second")
      let errors = Guarded<[StoreError?]>([])
      DispatchQueue.concurrentPerform(iterations: 2) { index in
        let error = storeError { _ = try (index == 0 ? first : second).remove("k") }
        errors.withLock { $0.append(error) }
      }
      let found = errors.withLock { $0 }
      #expect(found.filter { $0 == nil }.count == 1, "\(round): \(found)")
      try? first.close()
      try? second.close()
      try lost.clear()
    }
  }

  @Test func foreignFolderStaysUntouched() throws {
    let store = try lost.open(recreates: true)
    try FileManager.default.moveItem(atPath: lost.folder.store, toPath: lost.folder.path + "/gone")
    try FileManager.default.createDirectory(atPath: lost.folder.store, withIntermediateDirectories: true)
    try Files.write([1, 2, 3], to: lost.folder.store + "/photo.jpg")
    guard case .notAStore? = storeError({ try store.remove("k") }) else {
      Issue.record("a foreign folder was taken")
      return
    }
    #expect(try Files.below(lost.folder.store) == ["photo.jpg"] && store.bytes("k") == nil)
    try Files.remove(lost.folder.store)
    try store.put([2], for: "k", options: PutOptions(durability: .synced))
    #expect(store.bytes("k") == [2] && store.bytes("untouched") == nil)
    try? store.close()
  }

  @Test func missingParentIsReportedAndWaitedFor() throws {
    let store = try lost.open(recreates: true)
    let parent = lost.folder.path + "-parent"
    try FileManager.default.moveItem(atPath: lost.folder.path, toPath: parent)
    guard case .system(let cause) = storeError({ try store.removeAll() }) else {
      Issue.record("the missing parent is not told")
      return
    }
    #expect(cause.code == SystemError.missing && cause.path == lost.folder.path && store.count == 0)
    // Entries whose removal was refused do not return with the folder.
    try FileManager.default.moveItem(atPath: parent, toPath: lost.folder.path)
    try store.put([2], for: "k")
    #expect(store.bytes("k") == [2] && store.bytes("untouched") == nil)
    try? store.close()
  }

  /// The folder goes while the list is read.
  @Test(arguments: [false, true]) func folderDeletedDuringRetainServesNoEntry(_ recreates: Bool) throws {
    let store = try lost.open(recreates: recreates)
    let (first, path) = (store.probe.number, lost.folder.store)
    let names = (0..<3).lazy.map { number -> String in
      if number == 1 { try? Files.remove(path) }
      return "none \(number)"
    }
    var removed: Int?
    let error = storeError { removed = try store.retain(only: names) }
    #expect(store.bytes("k") == nil && store.bytes("untouched") == nil)
    if recreates {
      #expect(error == nil && removed == 0 && store.probe.number != first)
      try store.put([2], for: "k")
      #expect(store.bytes("k") == [2])
    } else {
      #expect(error == .storeRemoved)
    }
    try? store.close()
  }

  @Test(arguments: [false, true]) func refreshReportsARemovedStoreAndReadsContinue(_ recreates: Bool) throws {
    let writer = try lost.open(recreates: false)
    try writer.flush()
    let options = StoreOptions(isReadOnly: true, recreatesIfRemoved: recreates)
    let reader = try lost.world.open(lost.folder.store, options)
    try lost.strike(.deleted)
    #expect(storeError { try reader.refresh() } == .storeRemoved)
    #expect(storeError { try reader.remove("k") } == .readOnly)
    #expect(reader.bytes("k") == [1] && !Files.exists(lost.folder.store))
    try reader.close()
    try? writer.close()
  }

  @Test func aBufferedPutNoticesWithinATenthOfASecond() throws {
    let store = try lost.open(recreates: false)
    try Files.remove(lost.folder.store)
    lost.world.clock.advance(Int64(WriteGate.nameCheckMilliseconds) - 1)
    _ = storeError { try store.put([2], for: "k") }
    lost.world.clock.advance(1)
    #expect(storeError { try store.put([3], for: "k") } == .storeRemoved)
    #expect(store.bytes("k") == nil)
    // A clock that is set back hides nothing.
    let other = try lost.open(recreates: false)
    try Files.remove(lost.folder.store)
    lost.world.clock.step(-1_000_000)
    #expect(storeError { try other.put([3], for: "k") } == .storeRemoved)
  }

  /// No change is lost between one store and the next, and none is made twice.
  @Test func threadsContinueThroughManyDeletions() throws {
    let store = try lost.open(recreates: true)
    let isOver = Guarded(false)
    let (path, parent) = (lost.folder.store, lost.folder.path)
    let rounds = 12
    DispatchQueue.concurrentPerform(iterations: 7) { thread in
      if thread == 0 {
        for round in 0..<rounds {
          try? FileManager.default.moveItem(atPath: path, toPath: parent + "/gone\(round)")
          while !Files.exists(path + "/STORE") { usleep(1000) }
          // Until the new core is in place: from then on it is named.
          while storeError({ _ = try store.remove("none") }) != nil { usleep(1000) }
          try? FileManager.default.removeItem(atPath: parent + "/gone\(round)")
        }
        isOver.withLock { $0 = true }
        return
      }
      var number: UInt64 = 0
      while !isOver.withLock({ $0 }) {
        number += 1
        let key = "\(thread)"
        let value = noise(Int(number % 7) * 500 + 1, number)
        let options = number % 3 == 0 ? PutOptions(durability: .synced) : PutOptions()
        let error = storeError { try store.put(value, for: key, options: options) }
        #expect(error == nil)
        // Its own value, or nothing if the folder was removed since.
        if let bytes = store.bytes(key) { #expect(bytes == value) }
        let removal = storeError { _ = try store.remove(key) }
        #expect(removal == nil && store.bytes(key) == nil)
      }
    }
    _ = storeError { try store.flush() }
    try store.flush()
    #expect(try store.verify().isOK)
    try store.close()
  }
}
