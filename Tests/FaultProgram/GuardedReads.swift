import Glibc
import Vitrine

/// The promises of the guard, step by step.
struct GuardedReads {
  let folder: String

  private func open(at path: String? = nil) throws -> CacheStore {
    try CacheStore.open(at: path ?? folder, options: StoreOptions(byteBudget: 16 << 20, segmentByteCount: 256 << 10))
  }

  func run() throws {
    let store = try open()
    let bytes = value(1, 50_000)
    try store.put(bytes, for: "lent")
    try store.put(value(2, 50_000), for: "held")
    try store.put(value(3, 3000), for: "neighbour")
    // A compressed value, whose decompression hits the fault.
    let text = (0..<60_000).map { UInt8(truncatingIfNeeded: $0 / 251 % 40) }
    try store.put(text, for: "compressed")
    expect(store.bytes("compressed") == text && store.bytes("neighbour") != nil, "not there")
    let blob = store.blob("held")!
    // Installed late: it covers earlier mappings.
    try CacheStore.installBusErrorGuard()
    try CacheStore.installBusErrorGuard()
    var isRun = false
    let sum = store.get("lent") { span in
      expect(span.withUnsafeBytes { $0.elementsEqual(bytes) }, "wrong before the cut")
      for file in segmentFiles(store) { cut(file, to: 0) }
      isRun = true
      return span.withUnsafeBytes { $0.reduce(0) { $0 + Int($1) } }
    }
    expect(isRun && sum == nil, "the get that touched zeros answered \(sum ?? -1)")
    expect(store.statistics().damagedCount == 1 && store.lookup("lent") == .missing, "it was not dropped")
    struct Stopped: Error {}
    do {
      try store.get("neighbour") { _ in throw Stopped() }
      // Its head could not be read, so the closure did not run.
    } catch is Stopped {}
    expect(store.bytes("neighbour") == nil && store.bytes("compressed") == nil, "zeros were given")
    expect(store.statistics().damagedCount == 3, "\(store.statistics().damagedCount) counted")
    expect(!blob.withBytes { $0.withUnsafeBytes { $0.contains { $0 != 0 } } }, "the blob gave more than zeros")
    expect(blob.isDamaged, "the blob does not know")
    expect(store.bytes("held") == nil && store.count == 0, "zeros were given")
    // Values put now are stored elsewhere.
    for key in 0..<20 { try store.put(value(100 + key, 3000), for: "\(key)") }
    for key in 0..<20 { expect(store.bytes("\(key)") == value(100 + key, 3000), "a put after it is lost") }
    try store.close()
  }

  /// Zeros in place of a lost payload are not shared with a put of zeros.
  func putZeros() throws {
    try CacheStore.installBusErrorGuard()
    let store = try open()
    let layout = BitmapLayout(width: 100, height: 100, format: .bgra8888)!
    let black = [UInt8](repeating: 0, count: layout.byteCount)
    let options = PutOptions(layout: layout)
    // Its head is before the cut, and most of its payload behind it.
    try store.put(black, for: "first", options: options)
    expect(store.bytes("first") == black, "not there")
    for file in segmentFiles(store) { cut(file, to: 4096) }
    try store.put(black, for: "second", options: options)
    // The comparison has hit the fault: later reads find zeros without one.
    store.get("first") { _ in fail("zeros were given") }
    expect(store.lookup("first") == .missing, "an entry of zeros was not dropped")
    expect(store.bytes("second") == black, "a put was lost with the compared value")
    try? store.close()
  }

  /// A store through a mapping into a file truncated meanwhile is repeated by a call, or fails.
  func store() throws {
    try CacheStore.installBusErrorGuard()
    let store = try CacheStore.open(
      at: folder, options: StoreOptions(byteBudget: 64 << 20, segmentByteCount: 1 << 20))
    for key in 0..<200 { try store.put(value(key, 1000), for: "\(key)") }
    for file in segmentFiles(store) { cut(file, to: 0) }
    for key in 200..<240 { try store.put(value(key, 1000), for: "\(key)") }
    for key in 200..<240 { expect(store.bytes("\(key)") == value(key, 1000), "a put into a cut file is lost") }
    for key in 0..<200 {
      if let bytes = store.bytes("\(key)") { expect(bytes == value(key, 1000), "wrong bytes of \(key)") }
    }
    let layout = BitmapLayout(width: 200, height: 200, format: .bgra8888)!
    do {
      try store.draw(CacheKey("drawn"), layout: layout) { span, _ in
        _ = span.withUnsafeMutableBytes { $0.initializeMemory(as: UInt8.self, repeating: 1) }
        for name in store.statistics().segments.map(\.file) { cut("\(store.path)/segments/\(name)", to: 0) }
        _ = span.withUnsafeMutableBytes { $0.initializeMemory(as: UInt8.self, repeating: 2) }
      }
      fail("a drawing into nowhere was taken")
    } catch StoreError.writeFailed {}
    expect(store.bytes("drawn") == nil, "a drawing into nowhere is there")
    try? store.close()
  }

  /// A frame stored into a truncated log does not count: its put is not acknowledged.
  func log() throws {
    try CacheStore.installBusErrorGuard()
    let store = try open()
    // A burst, of which the last ones use the mapping.
    for key in 0..<200 { try store.put(value(key, 100), for: "\(key)") }
    for index in 0..<4 { cut("\(store.path)/wal/\(index).wal", to: 0) }
    do {
      try store.put(value(99, 100), for: "late")
      // Then its frame was written by a call, which extended the file again.
      var byteCount = 0
      for index in 0..<4 { byteCount += size("\(store.path)/wal/\(index).wal") }
      expect(byteCount > 0, "a change was acknowledged whose frame is nowhere")
      expect(store.bytes("late") == value(99, 100), "an acknowledged value is missing")
    } catch StoreError.writeFailed {
      expect(store.bytes("late") == nil, "a failed value is stored")
    }
    for key in 0..<200 { expect(store.bytes("\(key)") == value(key, 100), "\(key) is gone") }
    try? store.close()
  }

  /// A child has its own guard and mappings.
  ///
  /// While the parent forks, one of its threads may hold a lock of Swift's runtime, which the child must not need.
  /// So every call is made once before, on another store. If the child hangs nevertheless, it is ended.
  func runInChild() throws {
    try CacheStore.installBusErrorGuard()
    let rehearsed = try openWithTwo(at: folder + "-rehearsal")
    lose(rehearsed, segmentFiles(rehearsed.store), "rehearsed")
    let two = try openWithTwo(at: folder)
    // Called here: statistics take the commit lock, which another thread may hold at the fork.
    let files = segmentFiles(two.store)
    inChild { lose(two, files, "in the child") }
    let store = two.store
    expect(store.bytes("a") == nil && store.statistics().damagedCount == 1, "zeros were given in the parent")
    try? store.close()
  }

  private func openWithTwo(at path: String) throws -> (store: CacheStore, held: Blob) {
    let store = try open(at: path)
    try store.put(value(1, 50_000), for: "a")
    try store.put(value(2, 50_000), for: "b")
    expect(store.bytes("a") != nil && store.bytes("b") != nil, "not there")
    return (store, store.blob("b")!)
  }

  private func lose(_ two: (store: CacheStore, held: Blob), _ files: [String], _ place: String) {
    expect(two.store.bytes("a") == value(1, 50_000), "wrong \(place)")
    for file in files { cut(file, to: 0) }
    expect(two.store.bytes("a") == nil, "zeros were given \(place)")
    expect(two.held.isDamaged, "the blob does not know \(place)")
  }
}
