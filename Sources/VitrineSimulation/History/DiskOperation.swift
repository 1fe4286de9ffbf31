import Vitrine

/// One change of the disk, in the order in which it was made. Everything a crash can leave follows from the disk as it
/// was first and the list of these.
package struct DiskOperation: Sendable {
  /// What was changed. Files and folders go by number, since names change.
  enum Change: Sendable {
    case createFile(Int, in: Int, name: String)
    case createDirectory(Int, in: Int, name: String)
    case remove(Int, in: Int, name: String)
    case rename(Int, in: Int, from: String, to: String)
    case syncDirectory(Int)
    case write(Int, offset: Int, bytes: [UInt8])
    /// Bytes that came in through a mapping.
    case store(Int, offset: Int, bytes: [UInt8])
    case allocate(Int, byteCount: Int)
    case truncate(Int, byteCount: Int)
    /// It began when so many operations were complete, and takes along what came before.
    case syncFile(Int, begun: Int)
    /// A sync that failed, and behind which the kernel took the pages for written.
    case loseUnsyncedPages(Int)
    /// What a test does to a disk from outside. Durable at once.
    case replaceContent(Int, FileContent)
    case link(Int, in: Int, name: String, isDirectory: Bool)
    case unlink(Int, in: Int, name: String)
  }

  /// Counts from 0 over the life of one disk.
  package let index: Int
  /// Of the file or folder concerned, for messages and for tests that look for "the sync of the WAL".
  package let path: String
  let change: Change
  /// Where in the engine it was asked for; nil for what a test or somebody else did.
  package let site: CallSite?
  /// Who asked for it: by this, changes that overlap are told apart.
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

  /// What it does in a word, such as `write`.
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

  /// The bytes of the file that it put in place.
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
