import Glibc
import Vitrine

/// A low limit of descriptors, and many times as many segments: everything works as usual, and the store never
/// takes more than a quarter of the limit.
struct FewDescriptors {
  let folder: String
  let limit: Int
  /// Values of `byteCount` bytes each, one a segment.
  let count: Int
  let byteCount: Int

  /// Descriptors of the program itself.
  private let own = FewDescriptors.openCount()

  init(folder: String, limit: Int, count: Int, byteCount: Int) {
    (self.folder, self.limit, self.count, self.byteCount) = (folder, limit, count, byteCount)
  }

  private static func openCount() -> Int {
    guard let listing = opendir("/proc/self/fd") else { fail("no /proc/self/fd") }
    defer { closedir(listing) }
    var count = 0
    while readdir(listing) != nil { count += 1 }
    return count
  }

  private func expectFew(_ moment: String) {
    let taken = FewDescriptors.openCount() - own
    expect(taken <= limit / 4, "\(taken) descriptors of \(limit) \(moment)")
  }

  private func open(_ reads: ReadMode = .mapped, isReadOnly: Bool = false) throws -> CacheStore {
    var options = StoreOptions(reads: reads, isReadOnly: isReadOnly)
    if !isReadOnly {
      options.byteBudget = (count + 400) * (70 << 10)
      options.segmentByteCount = 64 << 10
    }
    let store = try CacheStore.open(at: folder, options: options)
    expectFew("after opening with \(reads) reads")
    return store
  }

  func run() throws {
    var old = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &old)
    var new = old
    new.rlim_cur = rlim_t(limit)
    expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &new) == 0, "no limit")
    var store = try open()
    for key in 0..<count {
      try store.put(value(key, byteCount), for: "\(key)")
      if key % 50 == 0 { expectFew("after \(key) puts") }
    }
    try expectAll(in: store, "as they were put")
    try store.close()

    store = try open()
    try expectAll(in: store, "after an opening")
    try verify(store)
    // A segment that Blobs hold stays readable without its name.
    let blobs = (0..<40).compactMap { store.blob("\($0)") }
    expect(blobs.count == 40 && blobs.contains { !$0.isCopy }, "\(blobs.count) Blobs")
    for key in 0..<count where key % 2 == 0 { try store.remove("\(key)") }
    expectFew("after removals")
    _ = try store.compact()
    expectFew("after a compaction")
    for (key, blob) in blobs.enumerated() {
      let isWhole = blob.withBytes { $0.withUnsafeBytes { $0.elementsEqual(value(key, byteCount)) } }
      expect(isWhole && !blob.isDamaged, "the Blob of \(key) changed")
    }
    try store.flush()
    try verify(store)
    try store.close()

    for reads in [ReadMode.copied, .mapped] {
      store = try open(reads, isReadOnly: true)
      try verify(store)
      try store.close()
    }
    store = try open(.copied)
    for key in 0..<count { try store.put(value(count + key, 3000), for: "\(key)") }
    expectFew("after puts into a store that maps nothing")
    for key in 0..<count {
      expect(store.bytes("\(key)") == value(count + key, 3000), "\(key) is gone")
    }
    expectFew("after gets from a store that maps nothing")
    for key in 0..<count where key % 3 == 0 { try store.remove("\(key)") }
    _ = try store.compact()
    expectFew("after a compaction of a store that maps nothing")
    try bodies(store)
    try verify(store)
    try store.close()
  }

  /// Many bodies of unknown length in progress: each grows in a separate file.
  private func bodies(_ store: CacheStore) throws {
    let writers = try (0..<100).map { try store.writer(for: CacheKey("body \($0)")) }
    for part in 0..<4 {
      for (key, writer) in writers.enumerated() { try writer.write(value(key * 4 + part, 25_000)) }
      expectFew("with \(writers.count) bodies under way")
    }
    for writer in writers { try writer.commit() }
    for key in writers.indices {
      let whole = (0..<4).flatMap { value(key * 4 + $0, 25_000) }
      expect(store.bytes("body \(key)") == whole, "body \(key) is gone")
    }
  }

  private func expectAll(in store: CacheStore, _ moment: String) throws {
    for key in 0..<count {
      expect(store.bytes("\(key)") == value(key, byteCount), "\(key) is gone \(moment)")
      if key % 50 == 0 { expectFew("after \(key) gets \(moment)") }
    }
  }

  private func verify(_ store: CacheStore) throws {
    let report = try store.verify()
    expect(report.isOK && report.lost.isEmpty, "\(report.damaged.prefix(3))")
    expectFew("after a verification")
  }
}
