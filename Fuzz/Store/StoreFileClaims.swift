import FuzzSupport

@testable import Vitrine
@testable import VitrineSimulation

/// The claims about a store with arbitrary bytes in one of its small files.
enum StoreFileClaims {
  /// A closed store.
  private static let moment = 4

  static func checkStoreFile(_ bytes: [UInt8], seals: Bool, opens: Bool) {
    var bytes = bytes
    if seals { Seal.storeFile(&bytes) }
    AddressSpace.limited { checkCopies(bytes) }
    if opens { use(CacheFormat.storeFile, bytes, refusesForGood: true) }
  }

  private static func checkCopies(_ bytes: [UInt8]) {
    for copy in [0, StoreIdentity.secondCopy] where copy <= bytes.count {
      let reading = bytes[copy...].withUnsafeBytes { StoreIdentity.read($0) }
      guard case .valid(let identity) = reading else { continue }
      var sealed = bytes
      Seal.identity(&sealed, at: copy)
      claim(sealed == bytes, "a copy with a wrong checksum is taken")
      let again = identity.encoded()
      claim(again.withUnsafeBytes { StoreIdentity.read($0) } == reading, "STORE is another once written")
      claim(fields(again[...]) == fields(bytes[copy...]), "STORE is read as something else than it says")
      claim(identity.byteBudget >= CacheFormat.smallestBudget, "a budget of \(identity.byteBudget)")
    }
  }

  /// Returns the fields of a copy as bytes. A comparison of read numbers would not find a number that is truncated at
  /// each read.
  private static func fields(_ copy: ArraySlice<UInt8>) -> [UInt8] {
    var bytes = Array(copy.prefix(StoreIdentity.byteCount))
    // The reader replaces larger numbers by the largest.
    for (field, most) in [(232, CacheFormat.largestBudget), (240, Int.max), (272, Int.max), (280, Int.max)] {
      Seal.put(min(Seal.word(bytes, field), UInt64(most)), &bytes, at: field)
    }
    // Without the unused bytes between the fields, and without the checksum after them.
    return Array(bytes[..<12] + bytes[16..<267] + bytes[272..<288])
  }

  static func checkCounters(_ bytes: [UInt8], seals: Bool, opens: Bool) {
    var bytes = bytes
    if seals { Seal.file(CacheFormat.countersFile, &bytes, store: SmallStore.shared.identity.store) }
    if let counters = Counters(bytes) {
      var sealed = bytes
      Seal.file(CacheFormat.countersFile, &sealed, store: SmallStore.shared.identity.store)
      claim(sealed == bytes, "COUNTERS with a wrong checksum are taken")
      claim(Counters(counters.encoded()) == counters, "COUNTERS are others once written")
      _ = counters.lastOpen
    }
    if opens { use(CacheFormat.countersFile, bytes, refusesForGood: false) }
  }

  static func checkLock(_ bytes: [UInt8], opens: Bool) {
    let file = MemoryFile(bytes)
    let read = LockFile.read(file)
    claim(!read.isMarked || bytes.count >= 11, "a mark in \(bytes.count) bytes")
    _ = LockFile.isOursOrBlank(file)
    if opens { use(CacheFormat.lockFile, bytes, refusesForGood: false) }
  }

  /// Opens a store with the file, read-only and for writing, reads it, changes it and opens it again.
  /// `refusesForGood`: the file may make the store unreadable; then the opening must not change any file.
  private static func use(_ name: String, _ bytes: [UInt8], refusesForGood: Bool) {
    let world = SmallStore.shared.world(moment)
    world.disk.setContents(SmallStore.inStore(name), bytes)
    let values = SmallStore.shared.values
    let claims = StoreClaims(world, values: StoreClaims.changed(values))
    let before = world.disk.operationCount
    if let reader = claims.open(StoreOptions(isReadOnly: true)) {
      claims.read(reader, SmallStore.shared.keys)
      try? reader.close()
    }
    claims.dump()
    // A reader leaves its uses in one file, and changes nothing else.
    let changes = world.disk.operations.filter { $0.index >= before && !$0.path.hasSuffix("/" + CacheFormat.usesFile) }
    claim(changes.isEmpty, "a reader changed the disk")
    do throws(StoreError) {
      let store = try CacheStore.open(
        at: SmallStore.path, options: StoreOptions(createsIfMissing: false), environment: world.environment)
      claims.change(store, SmallStore.shared.keys)
      claims.read(store, SmallStore.shared.keys)
      try? store.close()
    } catch {
      claim(refusesForGood, "a store does not open: \(error)")
      if case .unsupportedFormat = error { claim(world.disk.operationCount == before, "a newer store was touched") }
      if case .notAStore = error { claim(world.disk.operationCount == before, "a foreign folder was touched") }
      return
    }
    if let again = claims.open(StoreOptions()) { claims.read(again, SmallStore.shared.keys) }
  }
}
