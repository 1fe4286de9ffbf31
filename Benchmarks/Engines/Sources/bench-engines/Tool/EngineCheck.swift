import CBench

/// Checks in seconds that every engine returns the bytes that were put, in all ways of putting and getting.
struct EngineCheck {
  private static let count = 120

  let engines: [EngineKind]
  let folder: String
  private let values = Values(
    sizes: [0, 1, 63, 64, 65, 255, 1000, 4095, 4096, 4097, 16_000, 40_000, 100_000].map { Int32($0) })

  init(engines: [EngineKind], folder: String) {
    self.engines = engines
    self.folder = folder
  }

  func run() throws {
    for kind in engines {
      let path = "\(folder)/check-\(kind.rawValue)"
      try Folder.make(path)
      try check(kind, path)
      try Folder.remove(path)
    }
    try checkTheCheck()
  }

  private func check(_ kind: EngineKind, _ path: String) throws {
    let payload = values.totalByteCount(EngineCheck.count)
    let plan = StorePlan(
      entryCount: 2 * EngineCheck.count, payloadByteCount: payload, typicalByteCount: payload / EngineCheck.count)
    var engine = try kind.open(path, plan)
    try fill(engine)
    try compare(kind, engine)
    try engine.close()
    engine = try kind.open(path, plan)
    try compare(kind, engine)
    try removeSome(kind, engine)
    guard try engine.bytesOnDisk(path) > payload / 4 else { throw Failure("\(kind.rawValue): too few bytes on disk") }
    try engine.close()
  }

  /// Two threads put all values: buffered, synced and in batches. Every third key has another value before.
  private func fill(_ engine: any Engine) throws {
    let values = values
    _ = try Threads.measure(2) { thread, timer in
      let session = try engine.session()
      let keys = [KeyBuffer(), KeyBuffer()]
      timer.start()
      for number in stride(from: 2 * thread, to: EngineCheck.count, by: 4) {
        if number % 3 == 0 { try session.put(keys[0].key(number), values.value(number + 7)) }
        switch number / 4 % 3 {
        case 0:
          for next in [number, number + 1] { try session.put(keys[0].key(next), values.value(next)) }
        case 1:
          for next in [number, number + 1] { try session.putSynced(keys[0].key(next), values.value(next)) }
        default:
          let entries = [0, 1].map { Entry(key: keys[$0].key(number + $0), value: values.value(number + $0)) }
          try session.putBatch(entries, synced: number % 8 == 0)
        }
      }
      timer.stop()
    }
  }

  private func compare(_ kind: EngineKind, _ engine: any Engine) throws {
    let session = try engine.session()
    let check = SelfCheck(kind.rawValue, session)
    for number in 0..<EngineCheck.count { try check.expect(number, values.value(number)) }
    for number in EngineCheck.count..<(EngineCheck.count + 10) { try check.expectMiss(number) }
    if let session = session as? any RetainingSession { try compareRetained(kind, session) }
  }

  private func compareRetained<Session: RetainingSession>(_ kind: EngineKind, _ session: Session) throws {
    let keys = KeyBuffer()
    let prepared = (0..<EngineCheck.count).map { session.prepare(keys.key($0)) }
    guard session.touchMany(prepared) == prepared.count else { throw Failure("\(kind.rawValue): getMany has misses") }
    for number in prepared.indices {
      let value = values.value(number)
      guard session.touchRetained(prepared[number]) == bench_touch(value.baseAddress, value.count) else {
        throw Failure("\(kind.rawValue): retained value \(number) has wrong bytes")
      }
    }
  }

  private func removeSome(_ kind: EngineKind, _ engine: any Engine) throws {
    let session = try engine.session()
    let keys = KeyBuffer()
    let check = SelfCheck(kind.rawValue, session)
    for number in stride(from: 0, to: EngineCheck.count, by: 5) {
      try session.remove(keys.key(number))
      try check.expectMiss(number)
      try check.expect(number + 1, values.value(number + 1))
    }
  }

  /// The comparison itself must find one wrong bit, also beyond the first 64 bytes, and a missing byte.
  private func checkTheCheck() throws {
    let path = "\(folder)/check-the-check"
    try Folder.make(path)
    let engine = try EngineKind.raw.open(
      path, StorePlan(entryCount: 10, payloadByteCount: 1000, typicalByteCount: 100))
    do {
      let session = try engine.session()
      let keys = KeyBuffer()
      let check = SelfCheck("raw", session)
      let value = values.value(6)
      for wrongByte in [0, 40, value.count - 1] {
        var wrong = Array(value)
        wrong[wrongByte] ^= 1
        try wrong.withUnsafeBytes { try session.put(keys.key(1), $0) }
        if (try? check.expect(1, value)) != nil { throw Failure("the check does not find a wrong byte") }
      }
      try session.put(keys.key(1), UnsafeRawBufferPointer(rebasing: value.dropLast()))
      if (try? check.expect(1, value)) != nil { throw Failure("the check does not find a missing byte") }
      if (try? check.expectMiss(1)) != nil { throw Failure("the check does not find a value that should be absent") }
      if (try? check.expect(2, value)) != nil { throw Failure("the check does not find an absent value") }
    }
    try engine.close()
    try Folder.remove(path)
  }
}
