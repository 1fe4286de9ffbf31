import Testing

@testable import Vitrine

/// Indexes that belong to no store.
extension LoadedIndex {
  static func empty() throws -> LoadedIndex {
    guard let writer = CatalogWriter(identity: StoreIdentityFormatTests.identity) else {
      throw StoreError.system(SystemError(code: SystemError.noMemory, operation: "allocate", path: "index"))
    }
    return LoadedIndex(writer)
  }

  static func read(from file: any File, header: CheckpointHeader) -> LoadedIndex? {
    guard let writer = CatalogWriter.read(from: file, header: header) else { return nil }
    return LoadedIndex(writer)
  }

  @discardableResult
  func apply(_ changes: [Change], sequence: UInt64) -> Bool {
    writer.apply(changes, sequence: sequence, isChecked: false)
  }

  func advance(by changes: [Change]) -> Bool { writer.advance(by: changes) }

  struct Counts: Equatable {
    var keys: Int
    var blobs: Int
    var logicalByteCount: Int
  }

  var counts: Counts {
    Counts(keys: writer.keyCount, blobs: writer.blobCount, logicalByteCount: writer.logicalByteCount)
  }

  var nextSegment: UInt64 { writer.nextSegment }
}
