/// The account of a disk's blocks. Folders and empty files take none.
struct DiskSpace: Sendable {
  private(set) var capacityByteCount: Int
  /// Blocks of all files, including open files without a name.
  private(set) var usedPageCount: Int
  /// The largest number of used pages since the first change, or since ``resetMostUsed()``.
  private(set) var mostUsedPageCount = 0
  /// Whether nothing can be created, as if a folder needed a new block.
  private(set) var refusesNewNames = false

  init(capacityByteCount: Int, usedPageCount: Int) {
    self.capacityByteCount = capacityByteCount
    self.usedPageCount = usedPageCount
  }

  var freePageCount: Int { Swift.max(0, capacityByteCount / Page.byteCount - usedPageCount) }

  mutating func add(pageCount: Int) {
    usedPageCount += pageCount
    mostUsedPageCount = Swift.max(mostUsedPageCount, usedPageCount)
  }

  /// Restarts the maximum from the present value.
  mutating func resetMostUsed() { mostUsedPageCount = usedPageCount }

  /// Takes all free room, like another program.
  mutating func fillUp(refusingNewNames: Bool) {
    capacityByteCount = usedPageCount * Page.byteCount
    refusesNewNames = refusingNewNames
  }

  mutating func setCapacity(_ byteCount: Int) {
    capacityByteCount = byteCount
    refusesNewNames = false
  }

  /// Gives as much room as a new disk has.
  mutating func giveRoom() { setCapacity(SimulatedDisk.Options().capacityByteCount) }
}
