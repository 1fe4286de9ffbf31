/// A folder's entries as the disk has them, as the programs see them, and the changes between the two.
struct DirectoryHistory: Sendable {
  typealias Entries = [String: Int]

  private(set) var durable: Entries = [:]
  private(set) var live: Entries = [:]
  /// Changes since the last sync that succeeded, oldest first.
  private(set) var unsynced: [EntryChange] = []

  struct EntryChange: Sendable {
    enum Kind: Sendable {
      case add(String)
      case remove(String)
      case rename(from: String, to: String)
    }
    let index: Int
    let inode: Int
    let kind: Kind
  }

  init() {}
  init(durable: Entries) {
    self.durable = durable
    live = durable
  }

  mutating func change(_ inode: Int, _ kind: EntryChange.Kind, index: Int) {
    let change = EntryChange(index: index, inode: inode, kind: kind)
    change.apply(to: &live)
    unsynced.append(change)
  }

  /// Makes all changes durable. Returns the inodes that lost their last name.
  mutating func sync() -> Set<Int> {
    guard !unsynced.isEmpty else { return [] }
    let former = Set(durable.values).union(unsynced.map(\.inode))
    durable = live
    unsynced = []
    return former.subtracting(live.values)
  }

  /// Makes an external change: it is on the disk at once, and replaces all unsynced changes of that name or file.
  mutating func setDurably(_ name: String, _ inode: Int, isLinked: Bool) {
    unsynced.removeAll { $0.inode == inode || $0.concerns(name) }
    // The file must not return under an older name.
    for (other, linked) in durable where linked == inode && live[other] != inode { durable[other] = nil }
    durable[name] = isLinked ? inode : nil
    live[name] = isLinked ? inode : nil
  }

  /// The entries after a loss of power.
  func surviving(_ policy: CrashPolicy, inode: Int) -> Entries {
    guard !unsynced.isEmpty else { return durable }
    var entries = durable
    for (position, change) in unsynced.enumerated() {
      let circumstances = Circumstances(
        index: change.index, inode: inode, isName: true, position: position, count: unsynced.count)
      if policy.fate(circumstances).keepsName { change.apply(to: &entries) }
    }
    return entries
  }
}

extension DirectoryHistory.EntryChange {
  /// Makes the change. Any subset of a folder's changes may survive, so each works without those before it. It
  /// never leaves one file under two names.
  func apply(to entries: inout DirectoryHistory.Entries) {
    switch kind {
    case .add(let name):
      entries[name] = inode
    case .remove(let name):
      if entries[name] == inode { entries[name] = nil }
    case .rename(_, let newName):
      forgetOtherNames(in: &entries, than: newName)
      entries[newName] = inode
    }
  }

  func concerns(_ name: String) -> Bool {
    switch kind {
    case .add(let changed), .remove(let changed): changed == name
    case .rename(let from, let to): from == name || to == name
    }
  }

  private func forgetOtherNames(in entries: inout DirectoryHistory.Entries, than name: String) {
    for (other, linked) in entries where linked == inode && other != name { entries[other] = nil }
  }
}
