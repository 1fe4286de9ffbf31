#if Images
  import CacheCtlKit
  import Vitrine
  import VitrineImages

  /// A store's storage that remembers the keys for which pictures were to be stored.
  struct WatchedStorage: ImageStorage {
    private let storage: StoreStorage
    private let keys = Locked<Set<String>>([])

    init(_ store: CacheStore) { storage = StoreStorage(store) }

    /// Whether the store has the picture in the requested style or as an original, or none of its key was to be stored.
    func isKept(_ request: ImageRequest) -> Bool {
      guard keys.withLock({ $0.contains(request.key) }) else { return true }
      let styles = [.original, Style(request.style.name)].compactMap(\.self)
      return styles.contains { storage.store.contains(request.key, style: $0) }
    }

    private func note(_ key: String) { keys.withLock { _ = $0.insert(key) } }

    func original(for key: String) async throws -> StoredOriginal? { try await storage.original(for: key) }

    func saveOriginal(_ bytes: [UInt8], metadata: [UInt8], for key: String) async throws {
      note(key)
      try await storage.saveOriginal(bytes, metadata: metadata, for: key)
    }

    func setMetadata(_ metadata: [UInt8], ofOriginalFor key: String) async throws {
      try await storage.setMetadata(metadata, ofOriginalFor: key)
    }

    func styled(_ style: ImageStyle, for key: String) async throws -> StoredStyled? {
      try await storage.styled(style, for: key)
    }

    func styledAtHand(_ style: ImageStyle, for key: String) -> StoredStyled? { storage.styledAtHand(style, for: key) }

    func saveStyled(
      _ pictures: [StyledPicture], madeFrom original: Digest, for key: String
    ) async throws -> [StoredStyled] {
      note(key)
      return try await storage.saveStyled(pictures, madeFrom: original, for: key)
    }

    func setMetadata(
      _ metadata: [UInt8], of style: ImageStyle, madeFrom original: Digest, for key: String
    ) async throws {
      try await storage.setMetadata(metadata, of: style, madeFrom: original, for: key)
    }

    func drawStyled(
      _ style: ImageStyle, layout: BitmapLayout, metadata: [UInt8], madeFrom original: Digest, for key: String,
      _ draw: @escaping @Sendable (inout MutableRawSpan) throws -> Void
    ) async throws -> StoredStyled? {
      note(key)
      return try await storage.drawStyled(style, layout: layout, metadata: metadata, madeFrom: original, for: key, draw)
    }

    func noteOriginal(_ digest: Digest, for key: String) async throws {
      try await storage.noteOriginal(digest, for: key)
    }

    func placeholder(_ style: ImageStyle, for key: String) async throws -> StoredStyled? {
      try await storage.placeholder(style, for: key)
    }

    func remove(_ keys: [String]) async throws { try await storage.remove(keys) }

    func retain(only keys: [String], prefix: String?) async throws {
      try await storage.retain(only: keys, prefix: prefix)
    }
  }
#endif
