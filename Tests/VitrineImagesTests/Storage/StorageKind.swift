import Foundation
import Vitrine

@testable import VitrineImages

/// The storages that are tested against the contract of ``ImageStorage``.
enum StorageKind: CaseIterable {
  case store
  case files
  case database
}

/// A storage in a folder of its own, which is removed with the fixture.
final class StorageFixture {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("vitrine-storage-\(UUID().uuidString)")
  let kind: StorageKind
  private(set) var storage: any ImageStorage
  private var store: CacheStore?

  init(_ kind: StorageKind) throws {
    self.kind = kind
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    (storage, store) = try StorageFixture.open(kind, folder)
  }

  deinit {
    try? store?.close()
    try? FileManager.default.removeItem(at: folder)
  }

  /// Opens the storage again, as a new process would.
  func reopen() throws {
    try store?.close()
    (storage, store) = try StorageFixture.open(kind, folder)
  }

  private static func open(_ kind: StorageKind, _ folder: URL) throws -> (any ImageStorage, CacheStore?) {
    switch kind {
    case .store:
      let store = try CacheStore.open(
        at: folder.appendingPathComponent("store").path, options: StoreOptions(byteBudget: 32 << 20))
      return (StoreStorage(store), store)
    case .files: return (try FileStorage(folder: folder.appendingPathComponent("files")), nil)
    case .database: return (try SQLiteStorage(path: folder.appendingPathComponent("pictures.db").path), nil)
    }
  }
}
