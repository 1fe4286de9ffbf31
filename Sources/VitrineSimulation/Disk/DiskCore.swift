import Vitrine

/// The state of a simulated disk, behind its lock: the visible files, and the journal that determines everything
/// about durability.
///
/// The two are separate on purpose. Live files know nothing of syncs, ``DiskState`` knows nothing of handles; if
/// they disagree about a byte, a store was not announced.
struct DiskCore {
  private let initialOptions: SimulatedDisk.Options
  var journal: DiskJournal
  var files: FileTree
  var space: DiskSpace
  var faults = FaultPlan()
  var interventions = InterventionPlan()
  var misuse = MappingMisuse()
  private(set) var calls = CallCounts()
  /// The number of operations after which the store's folder was moved away or removed.
  private(set) var folderLost: Int?
  private var nextHandle: UInt64 = 1

  init(_ state: DiskState, options: SimulatedDisk.Options) {
    initialOptions = options
    journal = DiskJournal(after: state)
    files = FileTree(state)
    space = DiskSpace(capacityByteCount: options.capacityByteCount, usedPageCount: files.allocatedPageCount)
  }

  /// The options of a disk that continues this one.
  var options: SimulatedDisk.Options {
    var options = initialOptions
    options.capacityByteCount = space.capacityByteCount
    return options
  }

  /// Returns the file or folder at a path from the root, nil if there is none.
  func resolve(_ path: String) -> Int? { files.resolve(DiskPath.components(path)) }

  /// Begins every call: a stopped disk refuses it, a planned fault may strike it.
  mutating func begin(_ call: DiskCall, _ path: String) throws(SystemError) -> Fault.Effect? {
    try journal.checkRunning("\(call)", path)
    calls.add(call)
    while let intervention = interventions.due(at: calls.total) { intervention(&self) }
    let effect = faults.effect(on: call, path: path)
    switch effect {
    case .fail(let code): throw failure(code, "\(call)", path)
    case .failAfterWriting(_, let code) where call != .write: throw failure(code, "\(call)", path)
    default: return effect
    }
  }

  func failure(_ code: Int32, _ operation: String, _ path: String) -> SystemError {
    SystemError(code: code, operation: operation, path: path)
  }

  mutating func newHandle() -> UInt64 {
    defer { nextHandle += 1 }
    return nextHandle
  }

  /// Changes a file and keeps the account of blocks.
  mutating func change(_ file: LiveFile, _ body: (LiveFile) -> Void) {
    let before = file.content.allocatedPageCount
    body(file)
    space.add(pageCount: file.content.allocatedPageCount - before)
  }

  /// Removes a file or folder that has lost its last name.
  mutating func loseName(_ inode: Int) { if let freed = files.remove(inode) { space.add(pageCount: -freed) } }

  mutating func loseHold(on file: LiveFile) {
    if let freed = files.endHold(on: file) { space.add(pageCount: -freed) }
  }

  // MARK: External changes

  /// Makes a file or folder. Returns its number, nil if there is no such parent.
  mutating func link(_ name: String, in parent: Int, _ path: String, isDirectory: Bool) -> Int? {
    guard files.isFolder(parent) else { return nil }
    let inode = files.takeNumber()
    journal.recordFromOutside(.link(inode, in: parent, name: name, isDirectory: isDirectory), path)
    if isDirectory {
      files.addFolder(inode, name, in: parent)
    } else {
      files.addFile(LiveFile(number: inode, content: FileContent()), name, in: parent)
    }
    return inode
  }

  typealias Place = (parent: Int, name: String, path: String)

  mutating func move(_ inode: Int, from old: Place, to new: Place) {
    journal.recordFromOutside(
      .link(inode, in: new.parent, name: new.name, isDirectory: files.isFolder(inode)), new.path)
    files.link(inode, new.name, in: new.parent)
    journal.recordFromOutside(.unlink(inode, in: old.parent, name: old.name), old.path)
    files.unlink(old.name, in: old.parent)
  }

  /// From the leaves up, so that no handle inside has a folder that seems to exist.
  mutating func unlink(_ name: String, in parent: Int, _ path: String) {
    guard let inode = files.entries(of: parent)?[name] else { return }
    for child in (files.entries(of: inode) ?? [:]).keys.sorted() {
      unlink(child, in: inode, DiskPath.join(path, child))
    }
    journal.recordFromOutside(.unlink(inode, in: parent, name: name), path)
    files.unlink(name, in: parent)
    loseName(inode)
  }

  /// Removes a folder of the root and all its content.
  mutating func removeFolder(_ name: String) {
    folderLost = journal.operationCount
    unlink(name, in: DiskState.root, "/\(name)")
  }

  /// Moves a folder of the root away and makes an empty one in its place.
  mutating func replaceFolder(_ name: String, movingTo newName: String) {
    guard let inode = files.entries(of: DiskState.root)?[name] else { return }
    folderLost = journal.operationCount
    move(inode, from: (DiskState.root, name, "/\(name)"), to: (DiskState.root, newName, "/\(newName)"))
    _ = link(name, in: DiskState.root, "/\(name)", isDirectory: true)
  }
}
