import CSQLite
import Foundation

enum SQLiteValue: Sendable {
  case null
  case integer(Int)
  case blob([UInt8])

  /// The text's UTF-8 as a blob.
  static func text(_ text: String) -> SQLiteValue { .blob(Array(text.utf8)) }

  var bytes: [UInt8] { if case .blob(let bytes) = self { bytes } else { [] } }
  var integer: Int { if case .integer(let number) = self { number } else { 0 } }
}

struct SQLiteError: Error, CustomStringConvertible {
  let description: String
}

/// A connection to a database. After `init`, only its serial queue uses it.
final class SQLiteDatabase: @unchecked Sendable {
  private var connection: OpaquePointer?
  private let queue = DispatchQueue(label: "example.database")

  init(path: String) throws {
    // If opening fails, `deinit` still closes the connection, as SQLite requires.
    if sqlite3_open(path, &connection) != SQLITE_OK { throw error() }
  }

  deinit { sqlite3_close_v2(connection) }

  /// Runs on the queue, because threads that run `async` code must not wait for a disk.
  func perform<R: Sendable>(_ body: @escaping @Sendable (SQLiteDatabase) throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try body(self) }) }
    }
  }

  func transaction(_ body: () throws -> Void) throws {
    try run("BEGIN IMMEDIATE")
    do {
      try body()
      try run("COMMIT")
    } catch {
      _ = try? run("ROLLBACK")
      throw error
    }
  }

  @discardableResult
  func run(_ statement: String, _ values: [SQLiteValue] = []) throws -> [[SQLiteValue]] {
    var prepared: OpaquePointer?
    defer { sqlite3_finalize(prepared) }
    guard sqlite3_prepare_v2(connection, statement, -1, &prepared, nil) == SQLITE_OK else { throw error() }
    for (index, value) in values.enumerated() {
      guard SQLiteDatabase.bind(prepared, Int32(index + 1), value) == SQLITE_OK else { throw error() }
    }
    var rows: [[SQLiteValue]] = []
    while true {
      switch sqlite3_step(prepared) {
      case SQLITE_ROW: rows.append((0..<sqlite3_column_count(prepared)).map { SQLiteDatabase.column(prepared, $0) })
      case SQLITE_DONE: return rows
      default: throw error()
      }
    }
  }

  private static func bind(_ statement: OpaquePointer?, _ index: Int32, _ value: SQLiteValue) -> Int32 {
    switch value {
    case .null: sqlite3_bind_null(statement, index)
    case .integer(let number): sqlite3_bind_int64(statement, index, Int64(number))
    // An empty array has no address, and SQLite would bind NULL.
    case .blob(let bytes) where bytes.isEmpty: sqlite3_bind_zeroblob(statement, index, 0)
    case .blob(let bytes):
      sqlite3_bind_blob64(
        statement, index, bytes, sqlite3_uint64(bytes.count), unsafeBitCast(-1, to: sqlite3_destructor_type.self))
    }
  }

  private static func column(_ statement: OpaquePointer?, _ index: Int32) -> SQLiteValue {
    switch sqlite3_column_type(statement, index) {
    case SQLITE_NULL: .null
    case SQLITE_INTEGER: .integer(Int(sqlite3_column_int64(statement, index)))
    default:
      .blob(
        Array(
          UnsafeRawBufferPointer(
            start: sqlite3_column_blob(statement, index), count: Int(sqlite3_column_bytes(statement, index)))))
    }
  }

  private func error() -> SQLiteError { SQLiteError(description: String(cString: sqlite3_errmsg(connection))) }
}
