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

  private var type: any Engine.Type {
    switch self {
    case .raw: RawEngine.self
    case .rawMapped: RawMappedEngine.self
    case .vitrine: VitrineEngine.self
    case .files: FilesEngine.self
    case .filesMapped: MappedFilesEngine.self
    case .sqlite: SQLiteEngine.self
    case .lmdb: LMDBEngine.self
    case .leveldb: LevelDBEngine.self
    case .rocksdb: RocksDBEngine.self
    case .rocksdbBlob: RocksDBBlobEngine.self
    }
  }

  /// Whether the stores of the engine are removed late. ext4 passes over the inodes of files that were unlinked in the
  /// last minutes, one by one, so thousands of unlinked files would slow the next store down.
  var isRemovedLate: Bool { self == .files || self == .filesMapped }

  func open(_ folder: String, _ plan: StorePlan) throws -> any Engine { try type.open(folder, plan) }
}
