import Glibc
import InterruptedCalls
import Vitrine
import VitrineSimulation

/// Every third call to the system is interrupted, every third read or write does half of its work: a store works as
/// usual.
@main struct InterruptedProgram {
  let folder: String
  let reads: ReadMode

  /// `vitrine-interrupted mapped|copied FOLDER`. Exit status 0: passed; 1, and a line with the reason: failed.
  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 3 else { fail("usage: vitrine-interrupted mapped|copied FOLDER") }
    try InterruptedProgram(folder: arguments[2], reads: arguments[1] == "copied" ? .copied : .mapped).run()
  }

  private static let sizes = [0, 1, 300, 5_000, 70_000, 300_000]

  private func open() throws -> CacheStore {
    try CacheStore.open(
      at: folder, options: StoreOptions(byteBudget: 16 << 20, segmentByteCount: 256 << 10, reads: reads))
  }

  func run() throws {
    interrupted_calls_set(true)
    let values = (0..<60).map { RecordedStore.bytes(Self.sizes[$0 % Self.sizes.count], $0) }
    var store = try open()
    for (key, value) in values.enumerated() {
      try store.put(value, for: "\(key)", options: PutOptions(durability: key % 7 == 0 ? .synced : .buffered))
    }
    let writer = try store.writer(for: "in pieces", length: nil)
    for start in stride(from: 0, to: 300_000, by: 100_000) {
      try writer.write(Array(values[5][start..<start + 100_000]))
    }
    try writer.commit()
    try store.remove("3")
    try store.checkpoint()
    try store.setBudgets(byteBudget: 15 << 20)
    try check(store, values)
    try store.close()
    store = try open()
    expect(store.statistics().lastOpen.kind == .clean, "\(store.statistics().lastOpen)")
    try check(store, values)
    _ = try store.compact()
    try check(store, values)
    let report = try store.verify()
    expect(report.isOK && report.lost.isEmpty, "\(report.damaged) \(report.lost)")
    try store.close()
    interrupted_calls_set(false)
    for call in 0..<INTERRUPTED_CALL_COUNT.rawValue {
      let count = interrupted_call_count(interrupted_call(rawValue: call))
      expect(count > 0, "no call of kind \(call) was interrupted")
    }
    for call in [INTERRUPTED_READ, INTERRUPTED_WRITE] {
      expect(shortened_call_count(call) > 0, "no call of kind \(call.rawValue) did half")
    }
  }

  private func check(_ store: CacheStore, _ values: [[UInt8]]) throws {
    for (key, value) in values.enumerated() {
      expect(store.bytes("\(key)") == (key == 3 ? nil : value), "\(key) differs from the put value")
    }
    expect(store.bytes("in pieces") == values[5], "the body in pieces differs from the written one")
  }
}

private func fail(_ message: String) -> Never {
  print(message)
  exit(1)
}

private func expect(_ isTrue: Bool, _ message: @autoclosure () -> String) {
  if !isTrue { fail(message()) }
}
