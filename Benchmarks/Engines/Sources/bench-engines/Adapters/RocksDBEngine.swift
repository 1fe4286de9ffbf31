import CRocksDB
import Glibc

/// RocksDB with values in its sorted tables, or in blob files. The README of the package has the options and their
/// reasons.
final class RocksDBEngine: Engine, EngineSession, @unchecked Sendable {
  private static let xxh3: CChar = 4
  private static let blockCacheByteCount = 2 << 30

  private let database: OpaquePointer
  private let options: OpaquePointer
  private let cache: OpaquePointer
  private let reading: OpaquePointer
  private let buffered: OpaquePointer
  private let synced: OpaquePointer

  init(_ folder: String, _ plan: StorePlan, hasBlobFiles: Bool) throws {
    options = rocksdb_options_create()
    cache = rocksdb_cache_create_lru(RocksDBEngine.blockCacheByteCount)
    reading = rocksdb_readoptions_create()
    buffered = rocksdb_writeoptions_create()
    synced = rocksdb_writeoptions_create()
    rocksdb_writeoptions_set_sync(synced, 1)
    let compression = CInt(plan.isCompressible ? rocksdb_zstd_compression : rocksdb_no_compression)
    rocksdb_options_set_create_if_missing(options, 1)
    rocksdb_options_set_write_buffer_size(options, 64 << 20)
    rocksdb_options_set_max_write_buffer_number(options, 4)
    rocksdb_options_set_max_background_jobs(options, 4)
    rocksdb_options_set_bytes_per_sync(options, 1 << 20)
    rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1)
    rocksdb_options_set_max_open_files(options, -1)
    rocksdb_options_set_compression(options, compression)
    rocksdb_options_set_info_log_level(options, 3)
    rocksdb_options_set_keep_log_file_num(options, 1)
    let tables = rocksdb_block_based_options_create()
    // The options own the filter.
    rocksdb_block_based_options_set_filter_policy(tables, rocksdb_filterpolicy_create_bloom_full(10))
    rocksdb_block_based_options_set_block_cache(tables, cache)
    rocksdb_block_based_options_set_format_version(tables, 5)
    rocksdb_block_based_options_set_checksum(tables, RocksDBEngine.xxh3)
    rocksdb_block_based_options_set_data_block_index_type(
      tables, CInt(rocksdb_block_based_table_data_block_index_type_binary_search_and_hash))
    rocksdb_options_set_block_based_table_factory(options, tables)
    rocksdb_block_based_options_destroy(tables)
    if hasBlobFiles {
      rocksdb_options_set_enable_blob_files(options, 1)
      rocksdb_options_set_min_blob_size(options, 512)
      rocksdb_options_set_blob_file_size(options, 256 << 20)
      rocksdb_options_set_blob_compression_type(options, compression)
      rocksdb_options_set_enable_blob_gc(options, 1)
      rocksdb_options_set_blob_cache(options, cache)
    }
    var error: UnsafeMutablePointer<CChar>?
    let opened = rocksdb_open(options, folder, &error)
    try RocksDBEngine.check(error, "open")
    guard let opened else { throw Failure("rocksdb: no database") }
    database = opened
  }

  func session() -> any EngineSession { self }

  /// Writes the memory tables first, so that the next opening replays no log.
  func close() throws {
    let flushing = rocksdb_flushoptions_create()
    var error: UnsafeMutablePointer<CChar>?
    rocksdb_flush(database, flushing, &error)
    rocksdb_flushoptions_destroy(flushing)
    rocksdb_close(database)
    rocksdb_writeoptions_destroy(synced)
    rocksdb_writeoptions_destroy(buffered)
    rocksdb_readoptions_destroy(reading)
    rocksdb_options_destroy(options)
    rocksdb_cache_destroy(cache)
    try RocksDBEngine.check(error, "flush")
  }

  func put(_ key: Key, _ value: UnsafeRawBufferPointer) throws { try put(key, value, buffered) }

  func putSynced(_ key: Key, _ value: UnsafeRawBufferPointer) throws { try put(key, value, synced) }

  func putBatch(_ entries: [Entry], synced isSynced: Bool) throws {
    let batch = rocksdb_writebatch_create()
    defer { rocksdb_writebatch_destroy(batch) }
    for entry in entries {
      rocksdb_writebatch_put(batch, entry.key.characters, Key.byteCount, entry.value.characters, entry.value.count)
    }
    var error: UnsafeMutablePointer<CChar>?
    rocksdb_write(database, isSynced ? synced : buffered, batch, &error)
    try RocksDBEngine.check(error, "write")
  }

  func withValue(_ key: Key, _ body: (UnsafeRawBufferPointer) -> Void) throws -> Bool {
    var error: UnsafeMutablePointer<CChar>?
    let slice = rocksdb_get_pinned(database, reading, key.characters, Key.byteCount, &error)
    try RocksDBEngine.check(error, "get")
    guard let slice else { return false }
    defer { rocksdb_pinnableslice_destroy(slice) }
    var count = 0
    let value = rocksdb_pinnableslice_value(slice, &count)
    body(UnsafeRawBufferPointer(start: value, count: count))
    return true
  }

  func contains(_ key: Key) throws -> Bool { try withValue(key) { _ in } }

  /// RocksDB does not tell whether there was a value.
  func remove(_ key: Key) throws -> Bool {
    var error: UnsafeMutablePointer<CChar>?
    rocksdb_delete(database, buffered, key.characters, Key.byteCount, &error)
    try RocksDBEngine.check(error, "delete")
    return true
  }

  private func put(_ key: Key, _ value: UnsafeRawBufferPointer, _ options: OpaquePointer) throws {
    var error: UnsafeMutablePointer<CChar>?
    rocksdb_put(database, options, key.characters, Key.byteCount, value.characters, value.count, &error)
    try RocksDBEngine.check(error, "put")
  }

  private static func check(_ error: UnsafeMutablePointer<CChar>?, _ call: String) throws {
    guard let error else { return }
    defer { rocksdb_free(error) }
    throw Failure("rocksdb: \(call): \(String(cString: error))")
  }
}
