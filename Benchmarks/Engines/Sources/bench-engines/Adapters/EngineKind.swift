/// The engines of the benchmark, in the order of tables and plots.
enum EngineKind: String, CaseIterable, Sendable {
  case raw
  case rawMapped = "raw-mapped"
  case vitrine
  case files
  case filesMapped = "files-mapped"
  case sqlite
  case lmdb
  case leveldb
  case rocksdb
  case rocksdbBlob = "rocksdb-blob"

  /// Whether the stores of the engine are removed late. ext4 passes over the inodes of files that were unlinked in the
  /// last minutes, one by one, so thousands of unlinked files would slow the next store down.
  var isRemovedLate: Bool { self == .files || self == .filesMapped }

  /// Opens the engine in an existing folder, and creates it there if the folder is empty.
  func open(_ folder: String, _ plan: StorePlan) throws -> any Engine {
    switch self {
    case .raw: try RawEngine(folder, plan, isMapped: false)
    case .rawMapped: try RawEngine(folder, plan, isMapped: true)
    case .vitrine: try VitrineEngine(folder, plan)
    case .files: try FilesEngine(folder, plan, isMapped: false)
    case .filesMapped: try FilesEngine(folder, plan, isMapped: true)
    case .sqlite: try SQLiteEngine(folder, plan)
    case .lmdb: try LMDBEngine(folder)
    case .leveldb: try LevelDBEngine(folder, plan)
    case .rocksdb: try RocksDBEngine(folder, plan, hasBlobFiles: false)
    case .rocksdbBlob: try RocksDBEngine(folder, plan, hasBlobFiles: true)
    }
  }
}
