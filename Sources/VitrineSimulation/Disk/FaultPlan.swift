/// The calls that a fault can be tied to, and that are counted.
package enum DiskCall: Sendable, Hashable, CaseIterable {
  case openDirectory, createDirectory, list, remove, rename, syncDirectory, availableSpace
  case openFile, createFile, read, write, allocate, truncate, syncFile, writeBack, status, map, lock

  /// Whether a file system that is read-only refuses it.
  var changes: Bool {
    switch self {
    case .createDirectory, .remove, .rename, .createFile, .write, .allocate, .truncate, .syncFile, .syncDirectory: true
    case .openDirectory, .list, .availableSpace, .openFile, .read, .writeBack, .status, .map, .lock: false
    }
  }
}

/// A misfortune that a disk has in store: which call it strikes, and how.
package struct Fault: Sendable {
  package enum Place: Sendable {
    case anywhere
    case suffix(String)
    case containing(String)
  }

  package enum Effect: Sendable {
    /// Nothing happens, and the call throws this errno.
    case fail(Int32)
    /// A write gets so many bytes through and throws then. Other calls fail without effect.
    case failAfterWriting(byteCount: Int, Int32)
    /// A sync or a write-back throws, and the kernel forgets what it had to write: the pages go on looking written, no
    /// later sync writes them, and a loss of power finds the old bytes unless they were written anew. A folder's sync just
    /// fails.
    case loseUnsyncedPages(Int32)
    /// A sync answers well and has done nothing. To plant the mistake of a sync left out.
    case pretend
    /// A read ends early.
    case readShort(byteCount: Int)
    /// A read answers one wrong bit, in the byte at that position of what it read (modulo its length).
    case flipBit(byte: Int, bit: Int)
    /// A read answers what the file held at an earlier moment: after that part, in 256, of all operations so far. Where that is
    /// odd, in one sector of it alone.
    case readStale(part: Int)
    /// A read or a write goes so many bytes further on in the file, or back to its start where there is nothing.
    case misdirect(byteCount: Int)
  }

  package var call: DiskCall
  package var place: Place
  /// The first call that is struck, among those that fit, counted from 1 after the fault was planned.
  package var occurrence: Int
  /// Strikes every later call too.
  package var isLasting: Bool
  package var effect: Effect

  package init(
    _ call: DiskCall, on place: Place = .anywhere, occurrence: Int = 1, isLasting: Bool = false,
    _ effect: Effect
  ) {
    self.call = call
    self.place = place
    self.occurrence = occurrence
    self.isLasting = isLasting
    self.effect = effect
  }
}

/// The faults still to come. Deterministic: what strikes depends on the calls and their order only.
struct FaultPlan: Sendable {
  private var faults: [(fault: Fault, fitting: Int)] = []
  /// How many calls were struck.
  private(set) var strikeCount = 0

  mutating func add(_ fault: Fault) { faults.append((fault, 0)) }
  mutating func removeAll() { faults = [] }
  mutating func noteStrike() { strikeCount += 1 }
  /// The call that was struck last has done what it would have done anyway.
  mutating func takeStrikeBack() { strikeCount -= 1 }

  /// Every fault that fits counts the call; the earliest planned one that is due strikes.
  mutating func effect(on call: DiskCall, path: String) -> Fault.Effect? {
    if faults.isEmpty { return nil }
    var struck: Int?
    for position in faults.indices where faults[position].fault.fits(call, path) {
      faults[position].fitting += 1
      let fault = faults[position].fault
      let isDue =
        fault.isLasting
        ? faults[position].fitting >= fault.occurrence : faults[position].fitting == fault.occurrence
      if isDue, struck == nil { struck = position }
    }
    guard let struck else { return nil }
    strikeCount += 1
    return faults[struck].fault.effect
  }
}

extension Fault {
  fileprivate func fits(_ call: DiskCall, _ path: String) -> Bool {
    guard call == self.call else { return false }
    switch place {
    case .anywhere: return true
    case .suffix(let suffix): return path.hasSuffix(suffix)
    case .containing(let part): return path.contains(part)
    }
  }
}
