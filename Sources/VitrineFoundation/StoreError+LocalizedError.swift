import Foundation
import Vitrine

/// English sentences for people: the error, its cause, and a remedy.
extension StoreError: LocalizedError {
  /// A sentence about the error.
  public var errorDescription: String? {
    switch self {
    case .noSpace: "The cache has no room for the value."
    case .tooLarge: "The value is too large for the cache."
    case .invalidArgument: "The cache was called with a value outside its limits."
    case .writeFailed: "The disk refused to store the change."
    case .locked: "The cache is in use by another opening."
    case .notAStore(let path, _): "There is no cache store at \(path)."
    case .unsupportedFormat: "A later version of the program wrote the cache."
    case .noSuchStore(let path): "There is no cache at \(path)."
    case .closed: "The cache is closed."
    case .readOnly: "The cache is open for reading only."
    case .aborted: "The value was not stored, because its key was removed."
    case .storeRemoved: "The folder of the cache was removed or replaced."
    case .unreadable(let path, _): "The cache at \(path) cannot be read."
    case .system(let error): "The system refused a call: \(error.operation)."
    }
  }

  /// A sentence about the cause.
  public var failureReason: String? {
    switch self {
    case .noSpace: "The budget of the cache or its disk is full, and eviction could not free enough."
    case .tooLarge(let byteCount, let limit): "The value has \(byteCount) bytes. The largest has \(limit) bytes."
    case .invalidArgument(let text): StoreError.sentence(text)
    case .writeFailed(let error): "The system reported: \(error)."
    case .locked(let processID):
      processID > 0
        ? "Process \(processID) has the cache open for writing." : "Another opening has the cache open for writing."
    case .notAStore(_, let reason): StoreError.sentence(reason)
    case .unsupportedFormat(let found, let supported):
      "The cache has format \(found). This version reads formats up to \(supported)."
    case .noSuchStore: "The folder holds no cache, and the opening may not create one."
    case .closed: "The cache was closed before the call, or the process is a fork of the one that opened it."
    case .readOnly: "The call changes the cache, and this opening may not."
    case .aborted: "The key was removed, or the cache was made anew, while the value arrived."
    case .storeRemoved: "Another program deleted, moved or replaced the folder while the cache was open."
    case .unreadable(_, let reason): StoreError.sentence(reason)
    case .system(let error): "The system reported: \(error)."
    }
  }

  /// A sentence about the remedy.
  public var recoverySuggestion: String? {
    switch self {
    case .noSpace: "Free disk space, remove entries, or raise the budget. Values in the cache can still be read."
    case .tooLarge: "Use the value without caching it, or raise the budget."
    case .invalidArgument: "Correct the argument."
    case .writeFailed: "Close the cache and open it again. Until then, values can only be read."
    case .locked: "Close the other opening, wait for it, or open the cache for reading only."
    case .notAStore: "Choose another folder. Nothing in this one was changed."
    case .unsupportedFormat: "Update the program. Nothing in the cache was changed."
    case .noSuchStore: "Correct the path, or create the cache."
    case .closed: "Open the cache again."
    case .readOnly: "Open the cache for writing."
    case .aborted: "Store the value again if it is still needed."
    case .storeRemoved: "Open the cache again."
    case .unreadable: "Open the cache with the option that recreates it. Its values are then lost."
    case .system: "Correct the cause that the system reported, then try again."
    }
  }

  /// A reason as a sentence: with a capital letter and a full stop.
  private static func sentence(_ text: String) -> String {
    guard let first = text.first else { return text }
    return first.uppercased() + text.dropFirst() + (text.hasSuffix(".") ? "" : ".")
  }
}
