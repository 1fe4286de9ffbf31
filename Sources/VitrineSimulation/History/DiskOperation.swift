import Vitrine

/// One change of the disk, in the order of the changes. The initial disk and the list of these determine all states
/// that a crash can leave.
package struct DiskOperation: Sendable {
  /// The change itself. Files and folders are numbers, since names change.
  enum Change: Sendable {
    case createFile(Int, in: Int, name: String)
    case createDirectory(Int, in: Int, name: String)
    case remove(Int, in: Int, name: String)
    case rename(Int, in: Int, from: String, to: String)
    case syncDirectory(Int)
    case write(Int, offset: Int, bytes: [UInt8])
    /// Bytes stored through a mapping.
    case store(Int, offset: Int, bytes: [UInt8])
    case allocate(Int, byteCount: Int)
    case truncate(Int, byteCount: Int)
    /// A sync that began after this many complete operations, and makes those before durable.
    case syncFile(Int, begun: Int)
    /// A failed sync, after which the kernel treats the pages as written.
    case loseUnsyncedPages(Int)
    /// An external change by a test, like the next two cases. Durable at once.
    case replaceContent(Int, FileContent)
    case link(Int, in: Int, name: String, isDirectory: Bool)
    case unlink(Int, in: Int, name: String)
  }

  /// Counts from 0 over the life of one disk.
  package let index: Int
  /// The path of the file or folder, for messages and for tests that search for "the sync of the WAL".
  package let path: String
  let change: Change
  /// The line of the engine that asked for it; nil for a test or an external change.
  package let site: CallSite?
  /// The thread that asked for it, which tells overlapping changes apart.
  let thread: ThreadIdentity

  package var isSync: Bool {
    switch change {
    case .syncFile, .syncDirectory: true
    default: false
    }
  }

  package var isFailedSync: Bool {
    if case .loseUnsyncedPages = change { true } else { false }
  }

  /// The name of the operation in a word, such as `write`.
  package var name: String {
    switch change {
    case .createFile: "create"
    case .createDirectory: "create folder"
    case .remove: "remove"
    case .rename: "rename"
    case .syncDirectory: "sync folder"
    case .write: "write"
    case .store: "store"
    case .allocate: "allocate"
    case .truncate: "truncate"
    case .syncFile: "sync"
    case .loseUnsyncedPages: "failed sync"
    case .replaceContent: "replace content"
    case .link: "link"
    case .unlink: "unlink"
    }
  }

  /// The bytes of the file that it wrote.
  package var byteRange: Range<Int>? {
    switch change {
    case .write(_, let offset, let bytes), .store(_, let offset, let bytes): offset..<offset + bytes.count
    default: nil
    }
  }
}

extension DiskOperation: CustomStringConvertible {
  package var description: String {
    var text = "#\(index) \(name) \(path)"
    switch change {
    case .allocate(_, let byteCount), .truncate(_, let byteCount): text += " to \(byteCount) bytes"
    case .rename(_, _, _, let newName): text += " to \(newName)"
    default: if let byteRange { text += " [\(byteRange.lowerBound), \(byteRange.upperBound))" }
    }
    if let site { text += " from \(site)" }
    return text
  }
}
