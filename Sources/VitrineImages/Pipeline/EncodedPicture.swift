import Vitrine

/// A picture as the bytes of a file (``PicturePipeline/encodedImage(for:)``).
public struct EncodedPicture: Sendable {
  /// The bytes of the file.
  public let bytes: StoredBytes
  /// The format of the file.
  public let format: ImageFormat
  /// The end of freshness in milliseconds since 1970; nil if it never ends.
  public let freshUntilMilliseconds: Int64?
  /// Whether the server of the original forbids to store it, so that the receiver must not store the picture either.
  public let isNoStore: Bool
}

extension PicturePipeline {
  /// Returns the picture in the request's style as the bytes of a file, for a program that sends it on. Throws the
  /// errors of ``image(for:)``, and `cannotEncode` for a picture that the configuration's encoder cannot encode.
  ///
  /// With ``StyledForm/encoded``, a fresh stored picture is neither decoded nor copied. Otherwise, each call encodes
  /// the picture, within the limit of concurrent decodings.
  public func encodedImage(for request: PictureRequest) async throws -> EncodedPicture {
    if let kept = await keptEncodedImage(for: request) { return kept }
    var made: PictureLoader.Loaded?
    let response = try await answering(request) {
      let loaded = try await self.pictures.load(request, interest: Interest(request.priority))
      made = loaded
      return loaded
    }
    // The picture is now stored in this form, if the storage keeps it. Encoding its pixels again would lose quality.
    if let made, let kept = await pictures.keptEncoded(request, as: made) { return kept }
    let encoder = configuration.encoder
    let (bytes, format) = try await pictures.busy { try encoder.encode(response.bitmap) }
    return EncodedPicture(
      bytes: .array(bytes), format: format, freshUntilMilliseconds: made?.freshUntil,
      isNoStore: made?.isNoStore ?? false)
  }

  /// Returns the picture in the request's style as the bytes of a file if it is stored encoded and fresh. Does not
  /// decode it. Uses no network.
  public func keptEncodedImage(for request: PictureRequest) async -> EncodedPicture? {
    request.mayShowKept ? await pictures.keptEncoded(request) : nil
  }
}

extension PictureLoader {
  /// Returns the stored picture if it is fresh and was made from an original.
  func keptEncoded(_ request: PictureRequest) async -> EncodedPicture? {
    guard let (bytes, record) = await encoded(request), record.original != nil, mayShow(record, request),
      isFresh(record, request)
    else { return nil }
    return EncodedPicture(bytes, freshUntil: record.freshUntil, isNoStore: false)
  }

  /// Returns the stored picture if it was made from the same original as the picture that was just loaded.
  func keptEncoded(_ request: PictureRequest, as loaded: Loaded) async -> EncodedPicture? {
    guard let original = loaded.original, let (bytes, record) = await encoded(request), record.original == original
    else { return nil }
    return EncodedPicture(bytes, freshUntil: loaded.freshUntil, isNoStore: loaded.isNoStore)
  }

  private func encoded(_ request: PictureRequest) async -> (StoredBytes, StyledRecord)? {
    guard request.style != .original, let storage = configuration.storage,
      let kept = try? await storage.styled(request.style, for: request.key), case .encoded(let bytes) = kept.content
    else { return nil }
    return (bytes, record(kept))
  }
}

extension EncodedPicture {
  /// Returns nil for bytes that are not a picture.
  fileprivate init?(_ bytes: StoredBytes, freshUntil: Int64?, isNoStore: Bool) {
    guard let format = try? bytes.withBytes({ span throws(ImageError) in try ImageFormat(of: span) }) else {
      return nil
    }
    self.init(bytes: bytes, format: format, freshUntilMilliseconds: freshUntil, isNoStore: isNoStore)
  }
}
