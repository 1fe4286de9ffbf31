/// The requests that are counted and timed apart.
enum RequestKind: Int, CaseIterable {
  case memcachedGet, memcachedSet, memcachedDelete, memcachedArithmetic, memcachedTouch
  case metaGet, metaSet, metaDelete, metaArithmetic, memcachedOther
  case httpGet, httpHead, httpPut, httpDelete, httpPicture, httpReport, httpOther

  /// The kind of a memcached command, by its first word. Of classic retrievals, only refused ones come here.
  init(memcached word: UnsafeRawBufferPointer) {
    if word.count == 2, word[0] == UInt8(ascii: "m") {
      switch word[1] {
      case UInt8(ascii: "g"): self = .metaGet
      case UInt8(ascii: "s"): self = .metaSet
      case UInt8(ascii: "d"): self = .metaDelete
      case UInt8(ascii: "a"): self = .metaArithmetic
      default: self = .memcachedOther
      }
      return
    }
    switch TextCommand(word) {
    case .get, .gets, .gat, .gats: self = .memcachedGet
    case .set, .add, .replace, .append, .prepend, .cas: self = .memcachedSet
    case .delete: self = .memcachedDelete
    case .incr, .decr: self = .memcachedArithmetic
    case .touch: self = .memcachedTouch
    case .flushAll, .stats, .version, .verbosity, .quit, nil: self = .memcachedOther
    }
  }

  var protocolName: String { rawValue < RequestKind.httpGet.rawValue ? "memcached" : "http" }

  var command: String {
    switch self {
    case .memcachedGet, .httpGet: "get"
    case .memcachedSet: "set"
    case .memcachedDelete, .httpDelete: "delete"
    case .memcachedArithmetic: "arithmetic"
    case .memcachedTouch: "touch"
    case .metaGet: "mg"
    case .metaSet: "ms"
    case .metaDelete: "md"
    case .metaArithmetic: "ma"
    case .httpHead: "head"
    case .httpPut: "put"
    case .httpPicture: "image"
    case .httpReport: "report"
    case .memcachedOther, .httpOther: "other"
    }
  }
}
