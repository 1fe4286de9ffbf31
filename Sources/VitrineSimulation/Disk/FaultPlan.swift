/// The counted calls, to which a fault can be tied.
package enum DiskCall: Sendable, Hashable, CaseIterable {
  case openDirectory, createDirectory, list, remove, rename, syncDirectory, availableSpace
  case openFile, createFile, read, write, allocate, truncate, syncFile, writeBack, status, map, lock

  /// Whether a read-only file system refuses it.
  var changes: Bool {
    switch self {
    case .createDirectory, .remove, .rename, .createFile, .write, .allocate, .truncate, .syncFile, .syncDirectory: true
    case .openDirectory, .list, .availableSpace, .openFile, .read, .writeBack, .status, .map, .lock: false
    }
  }
}

/// A planned fault of a disk: the call that it strikes, and its effect.
package struct Fault: Sendable {
  package enum Place: Sendable {
    case anywhere
    case suffix(String)
    case containing(String)
  }

  package enum Effect: Sendable {
    /// The call has no effect and throws this errno.
    case fail(Int32)
    /// A write writes this many bytes and then throws. Other calls fail without effect.
    case failAfterWriting(byteCount: Int, Int32)
    /// A sync or a write-back throws, and the kernel treats the unsynced pages as written. They still show the new
    /// bytes, no later sync writes them, and a loss of power restores the old bytes unless the pages were written
    /// again. A folder's sync only fails.
    case loseUnsyncedPages(Int32)
    /// A sync returns without an error and has done nothing. Plants the mistake of a missing sync.
    case pretend
    /// A read ends early.
    case readShort(byteCount: Int)
    /// A read returns one wrong bit, in the byte at that position of its result (modulo its length).
    case flipBit(byte: Int, bit: Int)
    /// A read returns the file's content at an earlier moment: after `part` 256ths of all operations so far. If
    /// `part` is odd, in a single sector only.
    case readStale(part: Int)
    /// A read or a write is shifted by this many bytes in the file, or to its start if it has no bytes there.
    case misdirect(byteCount: Int)
  }

  package var call: DiskCall
  package var place: Place
  /// The first matching call that is struck, counted from 1 after the fault was planned.
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

/// The faults still to come. Deterministic: the effect depends only on the calls and their order.
struct FaultPlan: Sendable {
  private var faults: [(fault: Fault, fitting: Int)] = []
  /// The number of calls that were struck.
  private(set) var strikeCount = 0
  private var refusesChanges = false

  mutating func add(_ fault: Fault) { faults.append((fault, 0)) }
  /// Refuses every change from now on, like a file system after an error. A refusal is no strike.
  mutating func refuseChanges() { refusesChanges = true }
  /// Lets all calls succeed from now on.
  mutating func removeAll() {
    faults = []
    refusesChanges = false
  }
  mutating func noteStrike() { strikeCount += 1 }
  /// Takes back the count of a strike that had no effect.
  mutating func takeStrikeBack() { strikeCount -= 1 }

  /// Counts the call for every fault that fits; the earliest planned one that is due strikes.
  mutating func effect(on call: DiskCall, path: String) -> Fault.Effect? {
    if refusesChanges, call.changes { return .fail(ErrorCode.readOnlyFileSystem) }
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
