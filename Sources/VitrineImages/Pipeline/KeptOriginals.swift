import Vitrine

/// Finds originals in the storage, and what is known of those that are not kept beside what styles made of them.
///
/// What the storage throws counts as nothing kept. Safe from any thread.
final class KeptOriginals: Sendable {
  private struct Renewal: Sendable {
    let digest: Digest
    let record: ResponseRecord
  }

  private let storage: (any ImageStorage)?
  /// What servers said lately of originals that are not kept: each style of one would ask again.
  private let renewals = MemoryCache<String, Renewal>(limits: .init(count: 1000))

  init(_ storage: (any ImageStorage)?) { self.storage = storage }

  /// What is kept for a request; `useless`: digests of what counts as not kept. Throws `CancellationError`.
  func original(for request: ImageRequest, besides useless: Set<Digest>) async throws -> Originals.Found? {
    let original = try await storage.trying({ try await $0.original(for: request.key) }) ?? nil
    guard let original else { return try await unkept(request, besides: useless) }
    let record = ResponseRecord(metadata: original.metadata)
    // Chosen by other headers than these: then it is the answer to another question.
    if let record, !record.answers(request.headers), request.cachePolicy != .cacheOnly { return nil }
    let digest = original.bytes.digest
    return useless.contains(digest) ? nil : Originals.Found(bytes: original.bytes, digest: digest, record: record)
  }

  /// An original that is not kept, where what the request's style made of it is, and tells what is known of it.
  private func unkept(_ request: ImageRequest, besides useless: Set<Digest>) async throws -> Originals.Found? {
    // Those look only at what is there, and have.
    if request.cachePolicy == .cacheOnly || request.style == .original { return nil }
    let styled = try await storage.trying({ try await $0.styled(request.style, for: request.key) }) ?? nil
    guard let styled else { return nil }
    let beside = StyledRecord(metadata: styled.metadata)
    guard let digest = beside.original, !useless.contains(digest), var record = beside.response else { return nil }
    if let renewal = renewals[request.key], renewal.digest == digest { record = renewal.record }
    return record.answers(request.headers) ? Originals.Found(bytes: nil, digest: digest, record: record) : nil
  }

  // MARK: What servers said

  /// An original that is not kept is still good.
  func note(_ record: ResponseRecord, ofUnkept digest: Digest, for key: String) {
    renewals.insert(Renewal(digest: digest, record: record), for: key)
  }

  /// The server has said something else since.
  func forgetRenewal(of key: String) { renewals.remove(key) }
}
