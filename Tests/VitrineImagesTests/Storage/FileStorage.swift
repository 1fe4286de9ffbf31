import Foundation
import Vitrine
import VitrineImages

/// An example of an ``ImageStorage``: one file for each original, and one for each styled picture beside it.
///
/// ```
/// folder/4be1…09/original            a folder for each key, named by its digest
/// folder/4be1…09/71c3…5a             a file for each style, named by the digest of its name
/// ```
///
/// Each file is written under another name and then renamed, so no reader sees half of one. A read checks the key,
/// style and digest in the file. Two keys may have the same digest. If the program ended between the two steps of
/// ``saveOriginal(_:metadata:for:)``, a style's file may belong to an older original.
struct FileStorage: ImageStorage {
  let folder: URL
  /// Runs reads concurrently, and changes one at a time.
  private let queue = DispatchQueue(label: "example.files", attributes: .concurrent)

  init(folder: URL) throws {
    self.folder = folder
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  func original(for key: String) async throws -> StoredOriginal? {
    await read {
      self.originalFile(key).map { StoredOriginal(bytes: .array($0.body), metadata: [UInt8]($0.metadata)) }
    }
  }

  func saveOriginal(_ bytes: [UInt8], metadata: [UInt8], for key: String) async throws {
    try await change {
      let digest = bytes.withUnsafeBytes { Digest(of: $0) }
      let file = PictureFile(key: key, digest: digest, metadata: metadata, body: bytes)
      try self.write(file, "original", key)
      // Reads already ignore these files, because their digest differs. Deleting them only frees space.
      for (name, styled) in self.styledFiles(key) where styled.digest != file.digest { self.delete(name, key) }
    }
  }

  func setMetadata(_ metadata: [UInt8], ofOriginalFor key: String) async throws {
    try await change {
      guard var file = self.originalFile(key) else { return }
      file.metadata = Data(metadata)
      try self.write(file, "original", key)
    }
  }

  func styled(_ style: ImageStyle, for key: String) async throws -> StoredStyled? {
    await read {
      guard let file = self.file(FileStorage.name(of: style.name), key), file.style == style.name else { return nil }
      if let original = self.originalFile(key), original.digest != file.digest { return nil }
      return file.styled
    }
  }

  func saveStyled(
    _ pictures: [StyledPicture], madeFrom original: Digest, for key: String
  ) async throws -> [StoredStyled] {
    try await change {
      let kept = self.originalFile(key)
      if kept == nil || kept?.digest == "\(original)" {
        for picture in pictures {
          try self.write(PictureFile(key: key, picture, original), FileStorage.name(of: picture.style.name), key)
        }
        // If no original is kept, reads cannot compare digests, so styles made from another original are deleted now.
        for (name, styled) in self.styledFiles(key) where styled.digest != "\(original)" { self.delete(name, key) }
      }
      return pictures.map { StoredStyled($0.content, metadata: $0.metadata) }
    }
  }

  func remove(_ keys: [String]) async throws {
    try await change { for key in keys { try self.removeFolder(FileStorage.name(of: key)) } }
  }

  func retain(only keys: [String], prefix: String?) async throws {
    try await change {
      let kept = Set(keys.map { Data($0.utf8) })
      for name in try FileManager.default.contentsOfDirectory(atPath: self.folder.path) {
        let files = try FileManager.default.contentsOfDirectory(atPath: self.folder.appendingPathComponent(name).path)
        // A folder has the files of one key. If two keys have the same digest, they share it and are removed together.
        let key = files.lazy.compactMap { self.read($0, in: name)?.key }.first
        if let key, !key.starts(with: (prefix ?? "").utf8) || kept.contains(key) { continue }
        try self.removeFolder(name)
      }
    }
  }

  // MARK: Files

  private static func name(of text: String) -> String { Array(text.utf8).withUnsafeBytes { "\(Digest(of: $0))" } }

  private func read(_ name: String, in key: String) -> PictureFile? {
    PictureFile(contentsOf: folder.appendingPathComponent(key).appendingPathComponent(name))
  }

  private func file(_ name: String, _ key: String) -> PictureFile? {
    read(name, in: FileStorage.name(of: key)).flatMap { $0.key == Data(key.utf8) ? $0 : nil }
  }

  private func originalFile(_ key: String) -> PictureFile? { file("original", key) }

  private func styledFiles(_ key: String) -> [(name: String, file: PictureFile)] {
    let path = folder.appendingPathComponent(FileStorage.name(of: key)).path
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    return names.filter { $0 != "original" }.compactMap { name in file(name, key).map { (name, $0) } }
  }

  private func write(_ file: PictureFile, _ name: String, _ key: String) throws {
    let place = folder.appendingPathComponent(FileStorage.name(of: key))
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    // `atomic` writes under another name and then renames.
    try file.data.write(to: place.appendingPathComponent(name), options: .atomic)
  }

  private func delete(_ name: String, _ key: String) {
    try? FileManager.default.removeItem(
      at: folder.appendingPathComponent(FileStorage.name(of: key)).appendingPathComponent(name))
  }

  private func removeFolder(_ name: String) throws {
    let path = folder.appendingPathComponent(name)
    if FileManager.default.fileExists(atPath: path.path) { try FileManager.default.removeItem(at: path) }
  }

  // MARK: Threads

  /// Runs on the queue, because threads that run `async` code must not wait for a disk.
  private func read<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
    await withCheckedContinuation { continuation in queue.async { continuation.resume(returning: body()) } }
  }

  private func change<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      queue.async(flags: .barrier) { continuation.resume(with: Result { try body() }) }
    }
  }
}
