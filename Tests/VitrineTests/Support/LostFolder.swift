import Foundation
import Testing

@testable import Vitrine

/// A store in a folder that is deleted, moved or replaced.
struct LostFolder {
  let folder: TemporaryFolder
  let world = TestWorld()
  static let square = Style("square")!

  init() throws { folder = try TemporaryFolder() }

  enum Loss: CaseIterable, Sendable { case deleted, moved, replaced, emptied, lock, segments, log, checkpoints }

  /// The fate of the folder. With `passesTime`, enough time follows for a buffered put to notice it.
  func strike(_ loss: Loss, passesTime: Bool = true) throws {
    let files = FileManager.default
    switch loss {
    case .deleted: try Files.remove(folder.store)
    case .moved: try files.moveItem(atPath: folder.store, toPath: folder.path + "/gone")
    case .replaced:
      try files.moveItem(atPath: folder.store, toPath: folder.path + "/gone")
      try makeAnother()
    case .emptied:
      for name in try files.contentsOfDirectory(atPath: folder.store) { try Files.remove(folder.store + "/" + name) }
      try makeAnother()
    case .lock: try Files.remove(folder.store + "/LOCK")
    case .segments: try Files.remove(folder.store + "/segments")
    case .log: try Files.remove(folder.store + "/wal")
    case .checkpoints: try Files.remove(folder.store + "/checkpoints")
    }
    if passesTime { world.clock.advance(Int64(WriteGate.nameCheckMilliseconds)) }
  }

  private func makeAnother() throws {
    let other = try world.open(folder.store)
    try other.put([9], for: "of another")
    try other.close()
  }

  func open(recreates: Bool) throws -> CacheStore {
    let options = StoreOptions(byteBudget: 4 << 20, segmentByteCount: 128 << 10, recreatesIfRemoved: recreates)
    let store = try world.open(folder.store, options)
    try store.put([1], for: "k")
    try store.put([1, 1], for: "k", style: LostFolder.square)
    for key in ["p/1", "p/2", "untouched"] { try store.put(Array(key.utf8), for: key) }
    return store
  }

  func clear() throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      try Files.remove(folder.path + "/" + name)
    }
  }
}

extension LostFolder.Loss {
  /// Whether a store of another opening is in the folder's place.
  var leavesAnother: Bool { self == .replaced || self == .emptied }
}
