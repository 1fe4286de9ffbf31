import CLMDB
import Glibc

/// LMDB, one transaction for each put. The README of the package has the options and their reasons.
final class LMDBEngine: Engine, @unchecked Sendable {
  private static let mapByteCount = 64 << 30

  let environment: OpaquePointer
  private(set) var database: MDB_dbi = 0

  init(_ folder: String) throws {
    var made: OpaquePointer?
    try LMDBEngine.check(mdb_env_create(&made), "create")
    guard let made else { throw Failure("lmdb: no environment") }
    environment = made
    try LMDBEngine.check(mdb_env_set_mapsize(made, LMDBEngine.mapByteCount), "map size")
    let flags = UInt32(MDB_NOSYNC | MDB_NOTLS | MDB_NORDAHEAD)
    try LMDBEngine.check(mdb_env_open(made, folder, flags, 0o600), "open")
    try write { transaction in
      try LMDBEngine.check(mdb_dbi_open(transaction, nil, UInt32(MDB_CREATE), &database), "open database")
    }
  }

  func session() throws -> any EngineSession { try LMDBSession(self) }

  func close() throws {
    try sync()
    mdb_env_close(environment)
  }

  func sync() throws { try LMDBEngine.check(mdb_env_sync(environment, 1), "sync") }

  /// Commits the changes of `body`, or changes nothing if it throws.
  func write(_ body: (OpaquePointer) throws -> Void) throws {
    var transaction: OpaquePointer?
    try LMDBEngine.check(mdb_txn_begin(environment, nil, 0, &transaction), "begin")
    guard let transaction else { throw Failure("lmdb: no transaction") }
    do {
      try body(transaction)
    } catch {
      mdb_txn_abort(transaction)
      throw error
    }
    try LMDBEngine.check(mdb_txn_commit(transaction), "commit")
  }

  static func check(_ status: CInt, _ call: String) throws {
    guard status != 0 else { return }
    throw Failure("lmdb: \(call): \(String(cString: mdb_strerror(status)))")
  }
}

/// Keeps one reading transaction, which each get renews and resets.
private final class LMDBSession: EngineSession {
  private let engine: LMDBEngine
  private let reading: OpaquePointer

  init(_ engine: LMDBEngine) throws {
    self.engine = engine
    var transaction: OpaquePointer?
    try LMDBEngine.check(mdb_txn_begin(engine.environment, nil, UInt32(MDB_RDONLY), &transaction), "begin")
    guard let transaction else { throw Failure("lmdb: no transaction") }
    mdb_txn_reset(transaction)
    reading = transaction
  }

  deinit { mdb_txn_abort(reading) }

  func put(_ key: Key, _ value: UnsafeRawBufferPointer) throws {
    try engine.write { try put(key, value, $0) }
  }

  func putSynced(_ key: Key, _ value: UnsafeRawBufferPointer) throws {
    try put(key, value)
    try engine.sync()
  }

  func putBatch(_ entries: [Entry], synced: Bool) throws {
    try engine.write { transaction in
      for entry in entries { try put(entry.key, entry.value, transaction) }
    }
    if synced { try engine.sync() }
  }

  func withValue(_ key: Key, _ body: (UnsafeRawBufferPointer) -> Void) throws -> Bool {
    try LMDBEngine.check(mdb_txn_renew(reading), "renew")
    defer { mdb_txn_reset(reading) }
    var key = value(key)
    var found = MDB_val()
    let status = mdb_get(reading, engine.database, &key, &found)
    if status == MDB_NOTFOUND { return false }
    try LMDBEngine.check(status, "get")
    body(UnsafeRawBufferPointer(start: found.mv_data, count: found.mv_size))
    return true
  }

  func contains(_ key: Key) throws -> Bool { try withValue(key) { _ in } }

  func remove(_ key: Key) throws -> Bool {
    var found = false
    try engine.write { transaction in
      var key = value(key)
      let status = mdb_del(transaction, engine.database, &key, nil)
      found = status == 0
      if status != MDB_NOTFOUND { try LMDBEngine.check(status, "delete") }
    }
    return found
  }

  private func put(_ key: Key, _ bytes: UnsafeRawBufferPointer, _ transaction: OpaquePointer) throws {
    var key = value(key)
    var data = MDB_val(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    try LMDBEngine.check(mdb_put(transaction, engine.database, &key, &data, 0), "put")
  }

  private func value(_ key: Key) -> MDB_val {
    MDB_val(mv_size: Key.byteCount, mv_data: UnsafeMutableRawPointer(mutating: key.start))
  }
}
