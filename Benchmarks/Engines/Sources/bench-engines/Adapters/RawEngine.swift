import CBench

/// The bare disk: a table in C, in memory, and values appended to one file by `pwrite` and read through one mapping. It
/// promises nothing, so it marks the cost of everything else. With `isMapped`, values are copied into a mapping that is
/// allocated and populated ahead, within the time of the puts. Every thread uses the same table.
final class RawEngine: Engine, EngineSession, @unchecked Sendable {
  private var table: OpaquePointer?

  init(_ folder: String, _ plan: StorePlan, isMapped: Bool) throws {
    let error = raw_open(folder, UInt64(plan.entryCount), isMapped, &table)
    guard error == 0 else { throw Failure.system("raw: open", error) }
  }

  func session() -> any EngineSession { self }

  func close() throws {
    try check(raw_close(table), "close")
    table = nil
  }

  func put(_ key: Key, _ value: UnsafeRawBufferPointer) throws {
    try check(raw_put(table, key.start, Key.byteCount, value.baseAddress, value.count), "put")
  }

  func putSynced(_ key: Key, _ value: UnsafeRawBufferPointer) throws {
    try put(key, value)
    try check(raw_sync(table), "sync")
  }

  func putBatch(_ entries: [Entry], synced: Bool) throws {
    for entry in entries { try put(entry.key, entry.value) }
    if synced { try check(raw_sync(table), "sync") }
  }

  func withValue(_ key: Key, _ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
    var value = raw_value()
    guard raw_get(table, key.start, Key.byteCount, &value) else { return false }
    body(UnsafeRawBufferPointer(start: value.bytes, count: value.count))
    return true
  }

  func contains(_ key: Key) -> Bool {
    var value = raw_value()
    return raw_get(table, key.start, Key.byteCount, &value)
  }

  func remove(_ key: Key) -> Bool { raw_remove(table, key.start, Key.byteCount) }

  private func check(_ error: CInt, _ call: String) throws {
    if error != 0 { throw Failure.system("raw: \(call)", error) }
  }
}
