import CLevelDB

/// LevelDB. The README of the package has the options and their reasons.
final class LevelDBEngine: Engine, EngineSession, @unchecked Sendable {
  private let database: OpaquePointer
  private let options: OpaquePointer
  private let cache: OpaquePointer
  private let filter: OpaquePointer
  private let reading: OpaquePointer
  private let buffered: OpaquePointer
  private let synced: OpaquePointer

  init(_ folder: String, _ plan: StorePlan) throws {
    options = leveldb_options_create()
    cache = leveldb_cache_create_lru(2 << 30)
    filter = leveldb_filterpolicy_create_bloom(10)
    leveldb_options_set_create_if_missing(options, 1)
    leveldb_options_set_cache(options, cache)
    leveldb_options_set_filter_policy(options, filter)
    leveldb_options_set_write_buffer_size(options, 64 << 20)
    leveldb_options_set_max_file_size(options, 64 << 20)
    leveldb_options_set_max_open_files(options, 10_000)
    let compression = plan.isCompressible ? leveldb_snappy_compression : leveldb_no_compression
    leveldb_options_set_compression(options, CInt(compression))
    reading = leveldb_readoptions_create()
    buffered = leveldb_writeoptions_create()
    synced = leveldb_writeoptions_create()
    leveldb_writeoptions_set_sync(synced, 1)
    var error: UnsafeMutablePointer<CChar>?
    let opened = leveldb_open(options, folder, &error)
    try LevelDBEngine.check(error, "open")
    guard let opened else { throw Failure("leveldb: no database") }
    database = opened
  }

  func session() -> any EngineSession { self }

  func close() {
    leveldb_close(database)
    leveldb_writeoptions_destroy(synced)
    leveldb_writeoptions_destroy(buffered)
    leveldb_readoptions_destroy(reading)
    leveldb_options_destroy(options)
    leveldb_filterpolicy_destroy(filter)
    leveldb_cache_destroy(cache)
  }

  func put(_ key: Key, _ value: UnsafeRawBufferPointer) throws { try put(key, value, buffered) }

  func putSynced(_ key: Key, _ value: UnsafeRawBufferPointer) throws { try put(key, value, synced) }

  func putBatch(_ entries: [Entry], synced isSynced: Bool) throws {
    let batch = leveldb_writebatch_create()
    defer { leveldb_writebatch_destroy(batch) }
    for entry in entries {
      leveldb_writebatch_put(batch, entry.key.characters, Key.byteCount, entry.value.characters, entry.value.count)
    }
    var error: UnsafeMutablePointer<CChar>?
    leveldb_write(database, isSynced ? synced : buffered, batch, &error)
    try LevelDBEngine.check(error, "write")
  }

  func withValue(_ key: Key, _ body: (UnsafeRawBufferPointer) -> Void) throws -> Bool {
    var error: UnsafeMutablePointer<CChar>?
    var count = 0
    let value = leveldb_get(database, reading, key.characters, Key.byteCount, &count, &error)
    try LevelDBEngine.check(error, "get")
    guard let value else { return false }
    defer { leveldb_free(value) }
    body(UnsafeRawBufferPointer(start: value, count: count))
    return true
  }

  func contains(_ key: Key) throws -> Bool { try withValue(key) { _ in } }

  /// LevelDB does not tell whether there was a value.
  func remove(_ key: Key) throws -> Bool {
    var error: UnsafeMutablePointer<CChar>?
    leveldb_delete(database, buffered, key.characters, Key.byteCount, &error)
    try LevelDBEngine.check(error, "delete")
    return true
  }

  private func put(_ key: Key, _ value: UnsafeRawBufferPointer, _ options: OpaquePointer) throws {
    var error: UnsafeMutablePointer<CChar>?
    leveldb_put(database, options, key.characters, Key.byteCount, value.characters, value.count, &error)
    try LevelDBEngine.check(error, "put")
  }

  private static func check(_ error: UnsafeMutablePointer<CChar>?, _ call: String) throws {
    guard let error else { return }
    defer { leveldb_free(error) }
    throw Failure("leveldb: \(call): \(String(cString: error))")
  }
}
