import CSQLiteDatabase
import Glibc

/// SQLite: a table of blobs, in WAL mode. One connection writes for all threads, and each thread has one that reads.
/// The README of the package has the options and their reasons.
final class SQLiteEngine: Engine, @unchecked Sendable {
  private let path: String
  private let pageByteCount: Int
  private let lock: UnsafeMutablePointer<pthread_mutex_t>
  /// `synchronous=NORMAL`.
  private let buffered: SQLiteConnection
  /// `synchronous=FULL`; opened when it is first needed.
  private var synced: SQLiteConnection?

  init(_ folder: String, _ plan: StorePlan) throws {
    path = folder + "/values.db"
    pageByteCount = plan.typicalByteCount > 8192 ? 16_384 : 4096
    buffered = try SQLiteConnection(path, pageByteCount: pageByteCount, synchronous: "NORMAL")
    lock = .allocate(capacity: 1)
    pthread_mutex_init(lock, nil)
    try buffered.run("CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, value BLOB NOT NULL)")
  }

  deinit {
    pthread_mutex_destroy(lock)
    lock.deallocate()
  }

  func session() throws -> any EngineSession {
    SQLiteSession(self, try SQLiteConnection(path, pageByteCount: pageByteCount, synchronous: "NORMAL"))
  }

  func close() throws {
    try synced?.close()
    try buffered.close()
  }

  /// Calls `body` with the connection that writes, for one thread at a time.
  func write<R>(synced isSynced: Bool = false, _ body: (SQLiteConnection) throws -> R) throws -> R {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    guard isSynced else { return try body(buffered) }
    if let synced { return try body(synced) }
    let opened = try SQLiteConnection(path, pageByteCount: pageByteCount, synchronous: "FULL")
    synced = opened
    return try body(opened)
  }
}

private final class SQLiteSession: EngineSession {
  private let engine: SQLiteEngine
  private let reading: SQLiteConnection

  init(_ engine: SQLiteEngine, _ reading: SQLiteConnection) {
    self.engine = engine
    self.reading = reading
  }

  deinit { try? reading.close() }

  func put(_ key: Key, _ value: UnsafeRawBufferPointer) throws {
    try engine.write { try $0.put(key, value) }
  }

  func putSynced(_ key: Key, _ value: UnsafeRawBufferPointer) throws {
    try engine.write(synced: true) { try $0.put(key, value) }
  }

  func putBatch(_ entries: [Entry], synced: Bool) throws {
    try engine.write(synced: synced) { connection in
      try connection.run("BEGIN IMMEDIATE")
      do {
        for entry in entries { try connection.put(entry.key, entry.value) }
        try connection.run("COMMIT")
      } catch {
        try? connection.run("ROLLBACK")
        throw error
      }
    }
  }

  func withValue(_ key: Key, _ body: (UnsafeRawBufferPointer) -> Void) throws -> Bool {
    let statement = try reading.statement("SELECT value FROM entries WHERE key = ?1")
    defer { sqlite3_reset(statement) }
    guard try reading.step(statement, key) == SQLITE_ROW else { return false }
    let bytes = sqlite3_column_blob(statement, 0)
    body(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(statement, 0))))
    return true
  }

  func contains(_ key: Key) throws -> Bool {
    let statement = try reading.statement("SELECT 1 FROM entries WHERE key = ?1")
    defer { sqlite3_reset(statement) }
    return try reading.step(statement, key) == SQLITE_ROW
  }

  func remove(_ key: Key) throws -> Bool {
    try engine.write { connection in
      let statement = try connection.statement("DELETE FROM entries WHERE key = ?1")
      defer { sqlite3_reset(statement) }
      _ = try connection.step(statement, key)
      return sqlite3_changes(connection.database) > 0
    }
  }
}
