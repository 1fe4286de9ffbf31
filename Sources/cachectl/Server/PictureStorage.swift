#if Server && Images
  import Vitrine
  import VitrineImages

  /// Keeps the pictures of `/image/` under keys of their own, which are URLs behind ``prefix``. So the server never
  /// changes an entry that a client or another command has stored.
  struct PictureStorage: ImageStorage {
    static let prefix = "/image/"
    private let storage: StoreStorage

    init(_ store: CacheStore) { storage = StoreStorage(store) }

    private func own(_ key: String) -> String { PictureStorage.prefix + key }

    // An entry that a client has stored under such a key would never become stale. It counts as missing.

    func original(for key: String) async throws -> StoredOriginal? {
      guard let found = try await storage.original(for: own(key)), found.hasResponse else { return nil }
      return found
    }

    func saveOriginal(_ bytes: [UInt8], metadata: [UInt8], for key: String) async throws {
      try await storage.saveOriginal(bytes, metadata: metadata, for: own(key))
    }

    func setMetadata(_ metadata: [UInt8], ofOriginalFor key: String) async throws {
      try await storage.setMetadata(metadata, ofOriginalFor: own(key))
    }

    func styled(_ style: ImageStyle, for key: String) async throws -> StoredStyled? {
      guard let found = try await storage.styled(style, for: own(key)), found.hasOriginal else { return nil }
      return found
    }

    func saveStyled(
      _ pictures: [StyledPicture], madeFrom original: Digest, for key: String
    ) async throws -> [StoredStyled] {
      try await storage.saveStyled(pictures, madeFrom: original, for: own(key))
    }

    func setMetadata(
      _ metadata: [UInt8], of style: ImageStyle, madeFrom original: Digest, for key: String
    ) async throws {
      try await storage.setMetadata(metadata, of: style, madeFrom: original, for: own(key))
    }

    func noteOriginal(_ digest: Digest, for key: String) async throws {
      try await storage.noteOriginal(digest, for: own(key))
    }

    func remove(_ keys: [String]) async throws { try await storage.remove(keys.map(own)) }

    func retain(only keys: [String], prefix: String?) async throws {
      try await storage.retain(only: keys.map(own), prefix: own(prefix ?? ""))
    }
  }
#endif
