import CSQLiteDatabase

/// A connection with its prepared statements, for one thread at a time.
final class SQLiteConnection {
  private(set) var database: OpaquePointer?
  private var statements: [(text: StaticString, statement: OpaquePointer)] = []

  init(_ path: String, pageByteCount: Int, synchronous: String) throws {
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    try check(sqlite3_open_v2(path, &database, flags, nil), "open")
    sqlite3_busy_timeout(database, 60_000)
    try run("PRAGMA page_size = \(pageByteCount)")
    try run("PRAGMA journal_mode = WAL")
    try run("PRAGMA synchronous = \(synchronous)")
    try run("PRAGMA mmap_size = 2147418112")
    try run("PRAGMA cache_size = -65536")
    try run("PRAGMA wal_autocheckpoint = \((64 << 20) / pageByteCount)")
  }

  func close() throws {
    for (_, statement) in statements { sqlite3_finalize(statement) }
    statements = []
    try check(sqlite3_close(database), "close")
    database = nil
  }

  func run(_ text: String) throws { try check(sqlite3_exec(database, text, nil, nil, nil), text) }

  /// A statement that is prepared at its first use.
  func statement(_ text: StaticString) throws -> OpaquePointer {
    for known in statements where known.text.utf8Start == text.utf8Start { return known.statement }
    var made: OpaquePointer?
    let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
    try check(sqlite3_prepare_v3(database, "\(text)", -1, flags, &made, nil), "prepare")
    guard let made else { throw Failure("sqlite: no statement") }
    statements.append((text, made))
    return made
  }

  /// Binds a key, takes the first step, and returns its result: a row or the end.
  func step(_ statement: OpaquePointer, _ key: Key) throws -> CInt {
    // Without a destructor, the bytes are not copied. The caller resets the statement before they go.
    try check(sqlite3_bind_blob(statement, 1, key.start, CInt(Key.byteCount), nil), "bind")
    let status = sqlite3_step(statement)
    if status != SQLITE_ROW, status != SQLITE_DONE { try check(status, "step") }
    return status
  }

  func put(_ key: Key, _ value: UnsafeRawBufferPointer) throws {
    let statement = try statement("INSERT OR REPLACE INTO entries (key, value) VALUES (?1, ?2)")
    defer { sqlite3_reset(statement) }
    try check(sqlite3_bind_blob64(statement, 2, value.baseAddress, UInt64(value.count), nil), "bind")
    _ = try step(statement, key)
  }

  private func check(_ status: CInt, _ call: String) throws {
    guard status != SQLITE_OK else { return }
    throw Failure("sqlite: \(call): \(String(cString: sqlite3_errmsg(database)))")
  }
}
