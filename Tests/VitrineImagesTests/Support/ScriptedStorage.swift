import Vitrine

@testable import VitrineImages

/// Fails the given calls, counts all calls, and keeps nothing.
final class ScriptedStorage: ImageStorage {
  struct Failure: Error {}

  enum Call: Hashable, CaseIterable {
    case original, saveOriginal, setMetadata, styled, saveStyled, placeholder, remove, retain
  }

  private let failing: Set<Call>
  private let shown: Bitmap?
  private let kept: StoredOriginal?
  private let counts = Locked<[Call: Int]>([:])

  private let missCount: Int

  /// `missCount` is the number of first lookups that find no original.
  init(
    failing: Set<Call> = [], placeholder: Bitmap? = nil, original: StoredOriginal? = nil, missCount: Int = 0
  ) {
    self.failing = failing
    self.missCount = missCount
    shown = placeholder
    kept = original
  }

  func count(of call: Call) -> Int { counts.withLock { $0[call] ?? 0 } }

  private func note(_ call: Call) throws {
    counts.withLock { $0[call, default: 0] += 1 }
    if failing.contains(call) { throw Failure() }
  }

  func original(for key: String) async throws -> StoredOriginal? {
    try note(.original)
    return count(of: .original) > missCount ? kept : nil
  }

  func saveOriginal(_ bytes: [UInt8], metadata: [UInt8], for key: String) async throws { try note(.saveOriginal) }

  func setMetadata(_ metadata: [UInt8], ofOriginalFor key: String) async throws { try note(.setMetadata) }

  func styled(_ style: ImageStyle, for key: String) async throws -> StoredStyled? {
    try note(.styled)
    return nil
  }

  func saveStyled(
    _ pictures: [StyledPicture], madeFrom original: Digest, for key: String
  ) async throws -> [StoredStyled] {
    try note(.saveStyled)
    return pictures.map { StoredStyled($0.content, metadata: $0.metadata) }
  }

  func placeholder(_ style: ImageStyle, for key: String) async throws -> StoredStyled? {
    try note(.placeholder)
    return shown.map { StoredStyled(.pixels($0)) }
  }

  func remove(_ keys: [String]) async throws { try note(.remove) }

  func retain(only keys: [String], prefix: String?) async throws { try note(.retain) }
}
