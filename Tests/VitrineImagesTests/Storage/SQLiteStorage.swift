import Foundation
import Vitrine
import VitrineImages

/// An example of an ``ImageStorage``: two tables of a database. Changes that belong together share a transaction.
///
/// Keys are blobs, so SQLite compares them byte by byte and not by its rules for text.
struct SQLiteStorage: ImageStorage {
  private let database: SQLiteDatabase

  init(path: String) throws {
    database = try SQLiteDatabase(path: path)
    try database.run("PRAGMA journal_mode = WAL")
    try database.run(
      """
      CREATE TABLE IF NOT EXISTS original (
        key BLOB PRIMARY KEY, digest BLOB NOT NULL, metadata BLOB NOT NULL, bytes BLOB NOT NULL) WITHOUT ROWID
      """)
    try database.run(
      """
      CREATE TABLE IF NOT EXISTS styled (
        key BLOB, style BLOB, digest BLOB NOT NULL, metadata BLOB NOT NULL, bytes BLOB NOT NULL,
        width INTEGER, height INTEGER, bytesPerRow INTEGER, format INTEGER, PRIMARY KEY (key, style)) WITHOUT ROWID
      """)
  }

  func original(for key: String) async throws -> StoredOriginal? {
    let rows = try await database.perform {
      try $0.run("SELECT bytes, metadata FROM original WHERE key = ?", [.text(key)])
    }
    guard let row = rows.first else { return nil }
    return StoredOriginal(bytes: .array(row[0].bytes), metadata: row[1].bytes)
  }

  func saveOriginal(_ bytes: [UInt8], metadata: [UInt8], for key: String) async throws {
    let digest = bytes.withUnsafeBytes { Digest(of: $0) }
    try await database.perform { database in
      try database.transaction {
        try database.run(
          "INSERT OR REPLACE INTO original VALUES (?, ?, ?, ?)",
          [.text(key), .text("\(digest)"), .blob(metadata), .blob(bytes)])
        try database.run("DELETE FROM styled WHERE key = ? AND digest <> ?", [.text(key), .text("\(digest)")])
      }
    }
  }

  func setMetadata(_ metadata: [UInt8], ofOriginalFor key: String) async throws {
    try await database.perform { database in
      _ = try database.run("UPDATE original SET metadata = ? WHERE key = ?", [.blob(metadata), .text(key)])
    }
  }

  func styled(_ style: ImageStyle, for key: String) async throws -> StoredStyled? {
    let rows = try await database.perform {
      try $0.run(
        "SELECT metadata, bytes, width, height, bytesPerRow, format FROM styled WHERE key = ? AND style = ?",
        [.text(key), .text(style.name)])
    }
    guard let row = rows.first else { return nil }
    if case .null = row[2] { return StoredStyled(row[0].bytes, row[1].bytes, nil) }
    guard let format = PixelFormat(rawValue: UInt8(clamping: row[5].integer)),
      let layout = BitmapLayout(
        width: row[2].integer, height: row[3].integer, bytesPerRow: row[4].integer, format: format)
    else { return nil }
    return StoredStyled(row[0].bytes, row[1].bytes, layout)
  }

  func saveStyled(
    _ pictures: [StyledPicture], madeFrom original: Digest, for key: String
  ) async throws -> [StoredStyled] {
    try await database.perform { database in
      try database.transaction {
        let digest = SQLiteValue.text("\(original)")
        let others = try database.run("SELECT 1 FROM original WHERE key = ? AND digest <> ?", [.text(key), digest])
        guard others.isEmpty else { return }
        // If no original is kept, reads cannot compare digests, so styles made from another original are deleted now.
        try database.run("DELETE FROM styled WHERE key = ? AND digest <> ?", [.text(key), digest])
        for picture in pictures {
          let (bytes, layout) = picture.content.parts
          let numbers = layout.map { [$0.width, $0.height, $0.bytesPerRow, Int($0.format.rawValue)] }
          let values = numbers.map { $0.map(SQLiteValue.integer) } ?? [.null, .null, .null, .null]
          try database.run(
            "INSERT OR REPLACE INTO styled VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [.text(key), .text(picture.style.name), digest, .blob(picture.metadata), .blob(bytes)] + values)
        }
      }
    }
    return pictures.map { StoredStyled($0.content, metadata: $0.metadata) }
  }

  func setMetadata(
    _ metadata: [UInt8], of style: ImageStyle, madeFrom original: Digest, for key: String
  ) async throws {
    try await database.perform { database in
      _ = try database.run(
        "UPDATE styled SET metadata = ? WHERE key = ? AND style = ? AND digest = ?",
        [.blob(metadata), .text(key), .text(style.name), .text("\(original)")])
    }
  }

  func remove(_ keys: [String]) async throws {
    try await database.perform { database in
      try database.transaction {
        for key in keys {
          for table in ["original", "styled"] {
            try database.run("DELETE FROM \(table) WHERE key = ?", [.text(key)])
          }
        }
      }
    }
  }

  func retain(only keys: [String], prefix: String?) async throws {
    try await database.perform { database in
      try database.transaction {
        try database.run("CREATE TEMP TABLE kept (key BLOB PRIMARY KEY)")
        for key in keys { try database.run("INSERT OR IGNORE INTO kept VALUES (?)", [.text(key)]) }
        for table in ["original", "styled"] {
          try database.run(
            """
            DELETE FROM \(table)
            WHERE substr(key, 1, length(?1)) = ?1 AND key NOT IN (SELECT key FROM kept)
            """, [.text(prefix ?? "")])
        }
        try database.run("DROP TABLE kept")
      }
    }
  }
}
