import Vitrine

@testable import VitrineImages

/// Fails the given calls, counts all calls, and keeps nothing. Can hold one lookup of an original.
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
  /// The number of the lookup that is held, until the test admits it.
  private let held: Locked<Int?>

  /// `missCount` is the number of first lookups that find no original. `held` is the number of the lookup of an
  /// original that waits for ``admit()``.
  init(
    failing: Set<Call> = [], placeholder: Bitmap? = nil, original: StoredOriginal? = nil, missCount: Int = 0,
    held: Int? = nil
  ) {
    self.failing = failing
    self.missCount = missCount
    self.held = Locked(held)
    shown = placeholder
    kept = original
  }

  func count(of call: Call) -> Int { counts.withLock { $0[call] ?? 0 } }

  func admit() { held.withLock { $0 = nil } }

  /// Returns the number of this call among the calls of its kind.
  @discardableResult private func note(_ call: Call) throws -> Int {
    let number = counts.withLock { counts in
      counts[call, default: 0] += 1
      return counts[call] ?? 0
    }
    if failing.contains(call) { throw Failure() }
    return number
  }

  func original(for key: String) async throws -> StoredOriginal? {
    let number = try note(.original)
    while held.withLock({ $0 == number }) { try await Task.sleep(nanoseconds: 500_000) }
    return number > missCount ? kept : nil
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
