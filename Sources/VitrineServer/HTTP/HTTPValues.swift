import Vitrine

// Values: the paths below `/v1/`.
extension HTTPSession {
  func get(_ key: CacheKey, _ head: RequestHead) {
    note(head.method == .head ? .httpHead : .httpGet)
    if head.method == .head {
      guard let properties = items.properties(key) else { return miss() }
      let info = properties.info
      return answer(head, info.digest, info.byteCount, properties.record.others, nil)
    }
    guard let item = items.item(key) else { return miss() }
    items.marks.note(key)
    answer(head, item.blob.digest, item.blob.byteCount, item.record.others, item.blob)
  }

  private func miss() {
    counters.add(.getMisses)
    refuse(.notFound, "there is no such value")
  }

  private func answer(_ head: RequestHead, _ digest: Digest, _ byteCount: Int, _ metadata: [UInt8], _ blob: Blob?) {
    counters.add(.getHits)
    let tag = EntityTag.text(digest)
    let validators = "ETag: \(tag)\r\n"
    if let list = head.value(of: "if-match"), !EntityTag.list(list, has: tag, weakly: false) {
      return refuse(.preconditionFailed, "the value has another entity tag", fields: validators)
    }
    let fields = ValueFields.text(metadata)
    if let list = head.value(of: "if-none-match"), EntityTag.list(list, has: tag, weakly: true) {
      return respond(.notModified, validators + fields)
    }
    var part = 0..<byteCount
    var status = HTTPStatus.ok
    var range = ""
    // A range counts for GET alone, and with If-Range only for the value that the client has.
    if let blob, head.value(of: "if-range").map({ $0 == tag }) ?? true {
      switch ByteRange(head.value(of: "range"), byteCount: blob.byteCount) {
      case .whole: break
      case .unsatisfiable:
        return refuse(
          .rangeNotSatisfiable, "the value has \(byteCount) bytes", fields: "Content-Range: bytes */\(byteCount)\r\n")
      case .part(let found):
        (status, part) = (.partialContent, found)
        range = "Content-Range: bytes \(part.lowerBound)-\(part.upperBound - 1)/\(byteCount)\r\n"
      }
    }
    var all = validators + fields + range + "Accept-Ranges: bytes\r\n" + HTTPSite.valueFields
    if let blob, ClientFields.wantsProperties(head) {
      let properties = ClientFields.text(metadata: metadata, expirationMilliseconds: blob.expirationMilliseconds)
      all += properties
      // The answer has no bytes, so no cache may keep it.
      if status == .ok, respondByFile(head, "\(validators)Cache-Control: no-store\r\n\(properties)", blob) { return }
    }
    guard let blob else { return respond(status, all, byteCount: byteCount) }
    guard let share = items.share(of: blob) else {
      counters.add(.noRoom)
      return refuse(
        .serviceUnavailable, "other values take the memory for values that are sent decompressed",
        fields: "Retry-After: 1\r\n")
    }
    respond(status, all, blob, share, part)
  }

  // MARK: Changes

  func put(_ key: CacheKey, _ head: RequestHead, _ length: Int?) {
    note(.httpPut)
    guard let length else { return refuse(.lengthRequired, "a body needs a Content-Length", closes: true) }
    if head.value(of: "content-range") != nil {
      return refuse(.badRequest, "a part of a value cannot be stored")
    }
    if let encoding = head.value(of: "content-encoding"), encoding.lowercased() != "identity" {
      return refuse(.unsupportedMediaType, "send the value without a Content-Encoding")
    }
    if head.value(of: "if-match") != nil || !["*", nil].contains(head.value(of: "if-none-match")) {
      return refuse(.badRequest, "the only condition of a PUT is If-None-Match: *")
    }
    guard let lines = ValueFields.lines(head) else {
      return refuse(
        .headTooLarge, "a Content-Type or Cache-Control has at most \(ValueFields.longestValue) bytes")
    }
    let isNew = head.value(of: "if-none-match") != nil
    var request = StorageRequest(isNew ? .add : .set, key, byteCount: length)
    do throws(RequestHead.Refusal) {
      request.lines = try ClientFields.metadata(of: head) ?? lines
      request.expiry = try ClientFields.expiry(of: head)
    } catch {
      return refuse(error.status, error.text)
    }
    do throws(StoreError) {
      expect(Upload(request, try items.begin(request)), awaitsContinue: head.awaitsContinue)
    } catch {
      refuse(error)
    }
  }

  /// Stores a value that has arrived.
  func finish(_ upload: Upload) {
    counters.add(.sets)
    if let failure = upload.failure { return refuse(failure) }
    let isReplaced = items.store.contains(upload.request.key)
    switch items.store(upload.value, upload.request) {
    case .stored:
      counters.add(.stored)
      respond(isReplaced ? .noContent : .created, "")
    case .failed(let error): refuse(error)
    default: refuse(.preconditionFailed, "there is a value already")
    }
  }

  func delete(_ key: CacheKey, _ head: RequestHead) {
    note(.httpDelete)
    if head.value(of: "if-match") != nil || head.value(of: "if-none-match") != nil {
      return refuse(.badRequest, "a DELETE has no conditions")
    }
    switch items.delete(key) {
    case .stored:
      counters.add(.deleteHits)
      respond(.noContent, "")
    case .failed(let error): refuse(error)
    default:
      counters.add(.deleteMisses)
      refuse(.notFound, "there is no such value")
    }
  }

  private func refuse(_ error: StoreError) {
    switch error {
    case .noSpace: counters.add(.noRoom)
    case .tooLarge: counters.add(.tooLarge)
    default: break
    }
    refuse(
      HTTPStatus(error), error.description,
      fields: error == .readOnly ? "Allow: \(HTTPSite.readingMethods)\r\n" : "")
  }
}
