import CacheCtlKit
import Glibc

/// A full cache. Requests come with the frequency of a Zipf distribution (exponent 0.8). A miss is put, so older values
/// must go. Every twentieth request replaces a value.
struct ChurnWorkload: Workload {
  private static let valueByteCount = 20_000
  private static let replacement = 20

  let name = "churn"
  let keyCount: Int
  let byteBudget: Int
  let requestCount: Int
  private let values = Values(byteCount: ChurnWorkload.valueByteCount)

  init(keyCount: Int, byteBudget: Int, requestCount: Int) {
    self.keyCount = keyCount
    self.byteBudget = byteBudget
    self.requestCount = requestCount
  }

  var note: String {
    "\(Quantity.count(requestCount)) requests for \(Quantity.count(keyCount)) values of 20 KB, with a budget of "
      + "\(Quantity.bytes(byteBudget)); engines other than Vitrine evict by an LRU list of the adapter, and raw "
      + "reclaims no space"
  }

  func run(_ trial: Trial) throws -> [Sample] {
    let folder = try trial.makeFolder("store", payloadByteCount: byteBudget)
    let plan = StorePlan(
      entryCount: keyCount, payloadByteCount: byteBudget, typicalByteCount: ChurnWorkload.valueByteCount,
      byteBudget: byteBudget)
    let engine = try trial.kind.open(folder, plan)
    let stream: Stream
    let nanoseconds: Double
    let before: Int
    do {
      stream = Stream(self, trial, try engine.session())
      try stream.fill()
      before = try trial.counter.read()
      nanoseconds = try Clock.time { try stream.serve(requestCount) }.nanoseconds
      try stream.check()
      stream.end()
    }
    try engine.close()
    let after = try trial.counter.read()
    let onDisk = Double(try engine.bytesOnDisk(folder))
    try trial.remove(folder)
    return [
      Sample(.requests, Double(requestCount) * 1e9 / nanoseconds),
      Sample(.hits, stream.hitShare),
      Sample(.writtenOverPuts, Double(after - before) / Double(max(1, stream.putByteCount))),
      Sample(.diskOverBudget, onDisk / Double(byteBudget)),
    ]
  }

  /// The requests to one engine.
  private final class Stream {
    private let workload: ChurnWorkload
    private let name: String
    private var session: (any EngineSession)?
    private var list: RecencyList?
    private let keys = KeyBuffer()
    private var random: Random
    /// How often each value was replaced.
    private var versions: [UInt16]
    private var hits = 0
    private var gets = 0
    private(set) var putByteCount = 0

    init(_ workload: ChurnWorkload, _ trial: Trial, _ session: any EngineSession) {
      self.workload = workload
      name = trial.kind.rawValue
      self.session = session
      list =
        trial.kind == .vitrine
        ? nil : RecencyList(session, keyCount: workload.keyCount, byteBudget: workload.byteBudget)
      random = Random(trial.repetition)
      versions = Array(repeating: 0, count: workload.keyCount)
    }

    var hitShare: Double { Double(hits) / Double(max(1, gets)) }

    /// Puts values until the cache is full, the frequent ones last.
    func fill() throws {
      let count = min(workload.keyCount, workload.byteBudget * 5 / 4 / ChurnWorkload.valueByteCount)
      for index in (0..<count).reversed() { try put(index) }
      putByteCount = 0
    }

    func serve(_ count: Int) throws {
      var sum: UInt64 = 0
      for request in 0..<count {
        // The inverse of the distribution of ranks: rank = count * u ^ (1 / (1 - 0.8)).
        let index = min(workload.keyCount - 1, Int(Double(workload.keyCount) * pow(random.fraction(), 5)))
        if request % ChurnWorkload.replacement == 0 {
          versions[index] &+= 1
          try put(index)
          continue
        }
        gets += 1
        if let words = try session?.consume(keys.key(index)) {
          hits += 1
          sum ^= words
          list?.use(index)
        } else {
          try put(index)
        }
      }
      Words.keep(sum)
    }

    /// Every stored value must have the bytes of its last put. Without an engine's own eviction, the list tells the
    /// number of stored values.
    func check() throws {
      guard let session else { return }
      let check = SelfCheck(name, session)
      var found = 0
      for index in 0..<workload.keyCount {
        guard try session.withValue(keys.key(index), { _ in }) else { continue }
        try check.expect(index, value(index))
        found += 1
      }
      if found == 0 { throw Failure("\(name): no value has survived the stream") }
      if let list, found != list.byteCount / ChurnWorkload.valueByteCount {
        throw Failure("\(name): \(found) values are stored, and not as many as were kept")
      }
    }

    /// Ends the session, so that the engine can be closed.
    func end() {
      session = nil
      list = nil
    }

    private func put(_ index: Int) throws {
      let value = value(index)
      try session?.put(keys.key(index), value)
      try list?.put(index, byteCount: value.count)
      putByteCount += value.count
    }

    private func value(_ index: Int) -> UnsafeRawBufferPointer {
      workload.values.value(index + Int(versions[index]) * workload.keyCount)
    }
  }
}
