/// An error of a store, with the remedy.
public enum StoreError: Error, Sendable, Equatable {
  /// There is no room within the budget, or on the disk. Removing entries or raising the budget helps.
  case noSpace
  /// The value can never fit: more than 1 GiB, or more than the budget can hold.
  case tooLarge(byteCount: Int, limit: Int)
  /// An argument is outside its limits.
  case invalidArgument(String)
  /// The disk refused a write or a sync. The store refuses all further changes; reads go on. Reopen the store.
  case writeFailed(SystemError)
  /// Another opening has the store for writing. The process id is 0 if it could not be read.
  case locked(processID: Int32)
  /// The path leads to a file, to a folder with other files, or, for a read-only opening, to an empty folder.
  case notAStore(path: String, reason: String)
  /// A later version of this library wrote the store.
  case unsupportedFormat(found: UInt32, supported: UInt32)
  /// There is no store at this path, and the caller did not ask for a new one.
  case noSuchStore(path: String)
  /// The store is closed, or this is a forked child of the process that opened it.
  case closed
  /// The store was opened for reading only.
  case readOnly
  /// The key was removed while a body was arriving or a bitmap was being drawn. A value begun before a removal does
  /// not appear after it.
  case aborted
  /// The folder was removed or replaced while the store was open.
  case storeRemoved
  /// The store cannot be read, and the caller did not ask to recreate it.
  case unreadable(path: String, reason: String)
  /// Another system call failed; the error has the call and its errno.
  case system(SystemError)
}

extension StoreError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .noSpace: "no space left within the store's budget or on its disk"
    case .tooLarge(let byteCount, let limit): "\(byteCount) bytes are more than the \(limit) that can be stored"
    case .invalidArgument(let text): text
    case .writeFailed(let error): "the disk refused a write (\(error)); reopen the store"
    case .locked(let processID):
      processID > 0 ? "the store is open for writing in process \(processID)" : "the store is open for writing"
    case .notAStore(let path, let reason): "\(path) is not a store: \(reason)"
    case .unsupportedFormat(let found, let supported):
      "the store has format \(found), this version reads up to \(supported)"
    case .noSuchStore(let path): "there is no store at \(path)"
    case .closed: "the store is closed"
    case .readOnly: "the store is open for reading only"
    case .aborted: "the key was removed while the value was arriving"
    case .storeRemoved: "the store's folder was removed or replaced"
    case .unreadable(let path, let reason): "the store at \(path) cannot be read: \(reason)"
    case .system(let error): "\(error)"
    }
  }
}
