import Vitrine

@testable import VitrineImages

/// Keeps nothing. Holds lookups of some keys, and writes, until the test admits them.
final class GatedStorage: ImageStorage {
  private let state: Locked<State>

  private struct State {
    var heldKeys: Set<String>
    var isOpenForWrites: Bool
    var lookups: [String] = []
    var writes: [String] = []
  }

  init(holding keys: Set<String> = [], isOpenForWrites: Bool = true) {
    state = Locked(State(heldKeys: keys, isOpenForWrites: isOpenForWrites))
  }

  /// The keys of lookups, and the keys of styled pictures whose writing has begun, in order.
  var lookups: [String] { state.withLock { $0.lookups } }
  var writes: [String] { state.withLock { $0.writes } }

  func letAllBeFound() { state.withLock { $0.heldKeys = [] } }
  func openForWrites() { state.withLock { $0.isOpenForWrites = true } }

  func styled(_ style: ImageStyle, for key: String) async throws -> StoredStyled? {
    state.withLock { $0.lookups.append(key) }
    while state.withLock({ $0.heldKeys.contains(key) }) { try await Task.sleep(nanoseconds: 500_000) }
    return nil
  }

  func saveStyled(
    _ pictures: [StyledPicture], madeFrom original: Digest, for key: String
  ) async throws -> [StoredStyled] {
    state.withLock { $0.writes.append(key) }
    while state.withLock({ !$0.isOpenForWrites }) { try await Task.sleep(nanoseconds: 500_000) }
    return pictures.map { StoredStyled($0.content, metadata: $0.metadata) }
  }

  func original(for key: String) async throws -> StoredOriginal? { nil }
  func saveOriginal(_ bytes: [UInt8], metadata: [UInt8], for key: String) async throws {}
  func setMetadata(_ metadata: [UInt8], ofOriginalFor key: String) async throws {}
  func noteOriginal(_ digest: Digest, for key: String) async throws {}
  func remove(_ keys: [String]) async throws {}
  func retain(only keys: [String], prefix: String?) async throws {}
}
