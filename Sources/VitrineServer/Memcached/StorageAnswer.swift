import Vitrine

/// The answer to a request that stores a value.
enum StorageAnswer {
  case text(isQuiet: Bool)
  case meta(MetaFlags)

  func append(_ outcome: StorageOutcome, to session: MemcachedSession) {
    if case .failed(let error) = outcome, error != .aborted { return session.refuse(error, isQuiet: isSilent) }
    switch self {
    case .text(let isQuiet): if !isQuiet { session.output.append(StorageAnswer.text(of: outcome)) }
    case .meta(let flags): flags.append(outcome, to: session)
    }
  }

  /// Whether the client reads no answer, not even an error (`noreply`).
  var isSilent: Bool { if case .text(true) = self { true } else { false } }

  static func text(of outcome: StorageOutcome) -> StaticString {
    switch outcome {
    case .stored: "STORED\r\n"
    // The only failure here is `aborted`: the item was removed while its value arrived.
    case .notStored, .notANumber, .failed: "NOT_STORED\r\n"
    case .exists: "EXISTS\r\n"
    case .notFound: "NOT_FOUND\r\n"
    }
  }
}
