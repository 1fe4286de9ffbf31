import Glibc
import Vitrine

/// The process has no descriptor left: reads that need a file are misses, and no entry is dropped for it. Mapped
/// reads need none.
struct NoDescriptors {
  let folder: String
  let reads: ReadMode

  private static let count = 330

  private func open() throws -> CacheStore {
    try CacheStore.open(
      at: folder, options: StoreOptions(byteBudget: 64 << 20, segmentByteCount: 64 << 10, reads: reads))
  }

  func run() throws {
    var store = try open()
    // One value a segment: more segments than keep their files open.
    let values = (0..<Self.count).map { value($0, 50_000) }
    for key in 0..<Self.count { try store.put(values[key], for: "\(key)") }
    try store.close()
    store = try open()
    // Upkeep that has finished frees no descriptor later.
    try store.idle()
    // The machine may allow too many descriptors to use up.
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = min(limit.rlim_cur, 1024)
    expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, "no limit")
    var taken: [Int32] = []
    while true {
      let descriptor = Glibc.open("/dev/null", O_RDONLY)
      if descriptor < 0 { break }
      taken.append(descriptor)
    }
    expect(errno == EMFILE, "errno \(errno)")
    var missing = 0
    for key in 0..<Self.count {
      switch store.bytes("\(key)") {
      case nil:
        missing += 1
        expect(store.blob("\(key)") == nil, "a blob without a check of \(key)")
      case let bytes?:
        expect(bytes == values[key], "wrong bytes of \(key)")
        if reads == .mapped { expect(store.blob("\(key)")?.isDamaged == false, "no blob of \(key)") }
      }
    }
    expect(reads == .mapped ? missing == 0 : missing > 20 && missing < 300, "\(missing) are missing")
    expect(store.count == Self.count && store.statistics().damagedCount == 0, "entries were given up")
    for descriptor in taken { Glibc.close(descriptor) }
    for key in 0..<Self.count { expect(store.bytes("\(key)") == values[key], "\(key) is gone") }
    try store.close()
  }
}
