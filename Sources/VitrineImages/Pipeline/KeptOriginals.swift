import Vitrine

/// Finds stored originals. If only a styled picture is stored, finds the record of its original.
///
/// An error of the storage counts as a miss. Thread-safe.
final class KeptOriginals: Sendable {
  private struct Renewal: Sendable {
    let digest: Digest
    let record: ResponseRecord
  }

  private let storage: (any ImageStorage)?
  private let ageLimit: Int64?
  /// Recent server answers about originals that are not stored. Without them each style of an original would ask
  /// again.
  private let renewals = MemoryCache<String, Renewal>(limits: .init(count: 1000))

  /// `ageLimit` is in milliseconds.
  init(_ storage: (any ImageStorage)?, ageLimit: Int64?) {
    self.storage = storage
    self.ageLimit = ageLimit
  }

  /// Returns the original stored for a request, or nil. An original whose digest is in `useless` counts as not stored.
  /// Throws `CancellationError`.
  func original(for request: PictureRequest, besides useless: Set<Digest>) async throws -> Originals.Found? {
    let original = try await storage.trying({ try await $0.original(for: request.key) }) ?? nil
    guard let original else { return try await unkept(request, besides: useless) }
    let record = ResponseRecord(metadata: original.metadata)?.limited(to: ageLimit)
    // Other headers selected this original, so it may not be the answer to this request.
    if let record, !record.answers(request.headers), request.cachePolicy != .cacheOnly { return nil }
    let digest = original.bytes.digest
    return useless.contains(digest) ? nil : Originals.Found(bytes: original.bytes, digest: digest, record: record)
  }

  /// Returns the record of an original that is not stored, read from the stored picture in the request's style.
  private func unkept(_ request: PictureRequest, besides useless: Set<Digest>) async throws -> Originals.Found? {
    // A cache-only request has already looked at everything stored.
    if request.cachePolicy == .cacheOnly { return nil }
    guard let metadata = try await recordBesidePicture(request) else { return nil }
    let beside = StyledRecord(metadata: metadata, ageLimit: ageLimit)
    guard let digest = beside.original, !useless.contains(digest), var record = beside.response else { return nil }
    if let renewal = renewals[request.key], renewal.digest == digest { record = renewal.record }
    return record.answers(request.headers) ? Originals.Found(bytes: nil, digest: digest, record: record) : nil
  }

  private func recordBesidePicture(_ request: PictureRequest) async throws -> [UInt8]? {
    if request.wantsFrames {
      let animation = try await storage.trying { storage in
        try await (storage as? any AnimationStorage)?.animation(request.style, for: request.key)
      }
      if let animation = animation ?? nil { return animation.metadata }
    }
    if request.style == .original { return nil }
    let styled = try await storage.trying { try await $0.styled(request.style, for: request.key) }
    return (styled ?? nil)?.metadata
  }

  // MARK: Renewals by servers

  /// Records a server's answer that an original, which is not stored, is still valid.
  func note(_ record: ResponseRecord, ofUnkept digest: Digest, for key: String) {
    renewals.insert(Renewal(digest: digest, record: record), for: key)
  }

  /// Forgets the recorded answer after the server sent another one.
  func forgetRenewal(of key: String) { renewals.remove(key) }
}
