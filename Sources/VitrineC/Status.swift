import CVitrine
import Vitrine

/// The values of `vitrine_status`. In Swift, the constants of an unnamed enum of C are integers of another type.
enum Status {
  static let ok = vitrine_status(VITRINE_OK)
  static let notFound = vitrine_status(VITRINE_NOT_FOUND)
  static let end = vitrine_status(VITRINE_END)
  static let unmet = vitrine_status(VITRINE_UNMET)
  static let invalidArgument = vitrine_status(VITRINE_ERROR_INVALID_ARGUMENT)
  static let closed = vitrine_status(VITRINE_ERROR_CLOSED)
  static let system = vitrine_status(VITRINE_ERROR_SYSTEM)
  static let badHandle = vitrine_status(VITRINE_ERROR_BAD_HANDLE)

  /// Returns the status of an error of the engine.
  static func of(_ error: StoreError) -> vitrine_status {
    let value =
      switch error {
      case .noSpace: VITRINE_ERROR_NO_SPACE
      case .tooLarge: VITRINE_ERROR_TOO_LARGE
      case .invalidArgument: VITRINE_ERROR_INVALID_ARGUMENT
      case .writeFailed: VITRINE_ERROR_WRITE_FAILED
      case .locked: VITRINE_ERROR_LOCKED
      case .notAStore: VITRINE_ERROR_NOT_A_STORE
      case .unsupportedFormat: VITRINE_ERROR_UNSUPPORTED_FORMAT
      case .noSuchStore: VITRINE_ERROR_NO_SUCH_STORE
      case .closed: VITRINE_ERROR_CLOSED
      case .readOnly: VITRINE_ERROR_READ_ONLY
      case .aborted: VITRINE_ERROR_ABORTED
      case .storeRemoved: VITRINE_ERROR_STORE_REMOVED
      case .unreadable: VITRINE_ERROR_UNREADABLE
      case .system: VITRINE_ERROR_SYSTEM
      }
    return vitrine_status(value)
  }

  /// Returns `ok` if there was an entry, otherwise `notFound`.
  static func of(found: Bool) -> vitrine_status { found ? ok : notFound }

  /// A constant text of a status, which lives as long as the process.
  static func text(of status: vitrine_status) -> StaticString {
    switch Int(status) {
    case Int(VITRINE_OK): "success"
    case Int(VITRINE_NOT_FOUND): "no such entry"
    case Int(VITRINE_END): "no more entries"
    case Int(VITRINE_UNMET): "the condition is not met"
    case Int(VITRINE_ERROR_INVALID_ARGUMENT): "invalid argument"
    case Int(VITRINE_ERROR_NO_SPACE): "no space"
    case Int(VITRINE_ERROR_TOO_LARGE): "too large"
    case Int(VITRINE_ERROR_WRITE_FAILED): "write failed"
    case Int(VITRINE_ERROR_LOCKED): "open for writing elsewhere"
    case Int(VITRINE_ERROR_NOT_A_STORE): "not a store"
    case Int(VITRINE_ERROR_UNSUPPORTED_FORMAT): "unsupported format"
    case Int(VITRINE_ERROR_NO_SUCH_STORE): "no such store"
    case Int(VITRINE_ERROR_CLOSED): "closed"
    case Int(VITRINE_ERROR_READ_ONLY): "open for reading only"
    case Int(VITRINE_ERROR_ABORTED): "aborted by a removal"
    case Int(VITRINE_ERROR_STORE_REMOVED): "folder removed"
    case Int(VITRINE_ERROR_UNREADABLE): "unreadable store"
    case Int(VITRINE_ERROR_SYSTEM): "system error"
    case Int(VITRINE_ERROR_BAD_HANDLE): "bad handle"
    default: "unknown status"
    }
  }
}

/// See `vitrine_status_text` in vitrine.h.
@_cdecl("vitrine_status_text")
public func statusText(_ status: vitrine_status) -> UnsafePointer<CChar> {
  UnsafeRawPointer(Status.text(of: status).utf8Start).assumingMemoryBound(to: CChar.self)
}

/// See `vitrine_version` in vitrine.h.
@_cdecl("vitrine_version")
public func libraryVersion() -> UnsafePointer<CChar> {
  // A literal, because C needs memory that lives forever. A test compares it with `CacheStore.version`.
  let text: StaticString = "0.1.0"
  return UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}

/// See `vitrine_format_version` in vitrine.h.
@_cdecl("vitrine_format_version")
public func formatVersion() -> UInt32 { CacheStore.formatVersion }
