extension PictureLoader {
  /// Sets whether preheating may begin downloads and decodings. Running ones continue. Writes of preheating are always
  /// admitted, since they release decoded pictures.
  func setAdmitsPreheating(_ admits: Bool) {
    loads.setAdmitsPreheating(admits)
    work.setAdmitsPreheating(admits)
  }

  /// Returns whether the storage holds the data for the request, so that no work is necessary. Decodes nothing.
  func isKept(_ request: PictureRequest) async throws -> Bool {
    if request.cachePolicy == .reload || request.cachePolicy == .revalidate { return false }
    if request.style == .original || !configuration.keeps.keepsStyled { return try await isOriginalKept(request) }
    let kept = try await configuration.storage.trying { try await $0.styled(request.style, for: request.key) }
    guard let kept = kept ?? nil else { return false }
    let record = record(kept)
    return ResponseRecord.answers(record.vary, request.headers) && record.isFresh(at: configuration.now())
  }

  private func isOriginalKept(_ request: PictureRequest) async throws -> Bool {
    let kept = try await configuration.storage.trying { try await $0.original(for: request.key) }
    guard let kept = kept ?? nil else { return false }
    guard let record = ResponseRecord(metadata: kept.metadata)?.limited(to: configuration.maximumAgeMilliseconds)
    else { return true }
    return record.answers(request.headers) && record.standing(at: configuration.now()) == .fresh
  }
}
