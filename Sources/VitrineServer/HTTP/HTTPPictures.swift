import Vitrine

// Pictures that are made on request: the paths below `/image/`.
extension HTTPSession {
  func makePicture(_ key: CacheKey, _ head: RequestHead, wake: @escaping @Sendable () -> Void) {
    note(.httpPicture)
    guard let maker = site.pictures else {
      return refuse(.forbidden, "this server makes no pictures")
    }
    guard let url = String(validating: key.url, as: UTF8.self) else {
      return refuse(.badRequest, "the URL of a picture is UTF-8")
    }
    let pending = PendingPicture(knownTags: head.value(of: "if-none-match"))
    wait(for: pending)
    pending.start(PictureQuery(style: key.style.name, url: url), maker, wake: wake)
  }

  func finish(_ pending: PendingPicture, _ answer: PictureAnswer) {
    switch answer {
    case .refused(let refusal, let reason):
      refuse(HTTPStatus(refusal), reason, fields: refusal == .overloaded ? "Retry-After: 1\r\n" : "")
    case .picture(let file): send(file, pending)
    }
  }

  private func send(_ file: PictureFile, _ pending: PendingPicture) {
    let digest =
      switch file.content {
      case .value(let blob): blob.digest
      case .bytes(let bytes): bytes.withUnsafeBytes { Digest(of: $0) }
      }
    let tag = EntityTag.text(digest)
    let lifetime =
      file.isNoStore ? "no-store" : file.freshSeconds > 0 ? "max-age=\(file.freshSeconds)" : "no-cache"
    let validators = "ETag: \(tag)\r\nCache-Control: \(lifetime)\r\n"
    if let known = pending.knownTags, EntityTag.list(known, has: tag, weakly: true) {
      return respond(.notModified, validators)
    }
    let fields = "Content-Type: \(file.mediaType)\r\n" + validators + HTTPSite.valueFields
    let share =
      switch file.content {
      case .value(let blob): items.share(of: blob)
      case .bytes(let bytes): items.copies.take(bytes.count)
      }
    guard let share else {
      counters.add(.noRoom)
      return refuse(
        .serviceUnavailable, "other values take the memory for values that are sent from copies",
        fields: "Retry-After: 1\r\n")
    }
    switch file.content {
    case .value(let blob): respond(.ok, fields, blob, share, 0..<blob.byteCount)
    case .bytes(let bytes): respond(.ok, fields, HeldBytes(bytes), share)
    }
  }
}
