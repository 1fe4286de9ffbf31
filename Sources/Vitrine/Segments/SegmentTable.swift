import CVitrineSystem
import Synchronization

/// All segments of a store by slot.
///
/// Readers find mapped bytes through the descriptors alone, in memory that never moves. A descriptor is filled before
/// the first location that names it is published through the index. It is emptied only after the last such location was
/// removed and no reader has it pinned. Readers pin (``pin(_:)``) under the shard lock under which they found the
/// location. Any thread may raise a mark or count a miss; only the ``SegmentAccounts`` change anything else.
///
/// A descriptor is 64 bytes: address of the mapping (atomic; 0 without one), readable bytes (atomic), offset below
/// which live records are vouched for (atomic), segment id, the first sequence number that counts (older records
/// are leftovers of an opening whose frames were lost), capacity of the file, and the number of reads that missed
/// the mapping (atomic). The address may change to 0 and back while records are live: see ``MappingWindow``.
///
/// Invariant: `descriptors` has `slotLimit` of them, zeroed at first, until deinit.
package final class SegmentTable: @unchecked Sendable {
  package static let slotLimit = 1 << 16

  private let memory: PageMemory
  private let descriptors: UnsafeMutableRawPointer
  private static let stride = 64

  /// Guards `segments` between the writer and readers that need a segment's file. The writer, which alone changes
  /// it, reads it without the lock.
  private let lock: RawLock

  /// By slot.
  @exclusivity(unchecked) fileprivate var segments: [Segment?] = []
  package let store: StoreID
  /// The bytes of segments that Blobs hold, and of unlinked ones.
  package let account = StorageAccount()

  fileprivate init?(store: StoreID) {
    guard let memory = PageMemory(byteCount: SegmentTable.slotLimit * SegmentTable.stride) else { return nil }
    self.memory = memory
    descriptors = memory.start
    lock = RawLock()
    self.store = store
  }

  deinit {
    memory.free()
    lock.destroy()
  }

  // MARK: Readers

  @inline(__always)
  private func address(_ slot: Int) -> UnsafeMutableRawPointer { descriptors + slot * SegmentTable.stride }

  @inline(__always)
  package func pin(_ slot: Int) -> Pin {
    let address = UInt(bitPattern: self.address(slot))
    return Pin(level: vitrine_pin(address), address: address)
  }

  @inline(__always)
  private func startWord(_ slot: Int) -> UnsafeMutablePointer<Atomic<UInt>> {
    address(slot).assumingMemoryBound(to: Atomic<UInt>.self)
  }

  @inline(__always)
  private func start(_ slot: Int) -> UnsafeRawPointer? {
    UnsafeRawPointer(bitPattern: startWord(slot).pointee.load(ordering: .acquiring))
  }

  /// Returns the bytes from `location` to its segment's end; empty if the segment is not mapped that far.
  @inline(__always)
  package func bytes(at location: Location) -> UnsafeRawBufferPointer {
    // The address first: the file may have been cut before it was mapped again.
    guard let start = start(location.slot), case let count = available(at: location), count > 0 else {
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    return UnsafeRawBufferPointer(start: start + location.offset, count: count)
  }

  /// Returns the number of bytes from `location` to its segment's end, mapped or not.
  @inline(__always)
  package func available(at location: Location) -> Int {
    max(0, readable(location.slot).pointee.load(ordering: .relaxed) - location.offset)
  }

  @inline(__always)
  private func readable(_ slot: Int) -> UnsafeMutablePointer<Atomic<Int>> {
    (address(slot) + 8).assumingMemoryBound(to: Atomic<Int>.self)
  }

  @inline(__always)
  private func vouched(_ slot: Int) -> UnsafeMutablePointer<Atomic<Int>> {
    (address(slot) + 16).assumingMemoryBound(to: Atomic<Int>.self)
  }

  @inline(__always)
  package func isVouched(_ location: Location) -> Bool {
    location.offset < vouched(location.slot).pointee.load(ordering: .relaxed)
  }

  /// Prefetches the cache line where a record begins; harmless if the record is gone.
  package func prefetch(_ location: Location) {
    if let start = start(location.slot) { vitrine_prefetch(start + location.offset) }
  }

  package func vouchedUpTo(_ slot: Int) -> Int { vouched(slot).pointee.load(ordering: .relaxed) }

  package func id(_ slot: Int) -> UInt64 { address(slot).load(fromByteOffset: 24, as: UInt64.self) }

  package func firstSequence(_ slot: Int) -> UInt64 { address(slot).load(fromByteOffset: 32, as: UInt64.self) }

  /// Returns the seed of the checksum of the record at `location`.
  package func seed(_ location: Location) -> UInt64 {
    RecordHeader.seed(store: store, segment: id(location.slot), offset: location.offset)
  }

  package func isPinned(_ slot: Int) -> Bool {
    let address = UInt(bitPattern: self.address(slot))
    return vitrine_is_pinned(address, address + 1)
  }

  package func isPinnedByOthers(_ slot: Int) -> Bool {
    let address = UInt(bitPattern: self.address(slot))
    return vitrine_is_pinned_by_others(address, address + 1)
  }

  /// Returns the segment in a slot. Any thread.
  package func segment(_ slot: Int) -> Segment? {
    lock.lock()
    defer { lock.unlock() }
    return slot < segments.count ? segments[slot] : nil
  }

  /// Returns whether a pin belongs to this table.
  package func owns(_ pin: Pin) -> Bool {
    let start = UInt(bitPattern: descriptors)
    return pin.address >= start && pin.address < start + UInt(SegmentTable.slotLimit * SegmentTable.stride)
  }

  /// Whether any thread has any segment pinned.
  package var hasPins: Bool {
    let start = UInt(bitPattern: descriptors)
    return vitrine_is_pinned(start, start + UInt(SegmentTable.slotLimit * SegmentTable.stride))
  }

  package func slot(of pin: Pin) -> Int { Int(pin.address - UInt(bitPattern: descriptors)) / SegmentTable.stride }

  /// Returns the storage of a pinned segment.
  package func storage(of pin: Pin) -> SegmentStorage? { segment(slot(of: pin))?.storage }

  /// Returns whether zeros replace some of these bytes of a segment (``BusErrors``). The segment is pinned, unless
  /// the caller is the writer. One load as long as the process had no bus error.
  @inline(__always)
  package func isDamaged(_ bytes: UnsafeRawBufferPointer, slot: Int) -> Bool {
    BusErrors.haveHappened && showsZeros(bytes, slot)
  }

  @inline(never)
  private func showsZeros(_ bytes: UnsafeRawBufferPointer, _ slot: Int) -> Bool {
    segment(slot)?.storage?.isDamaged(bytes) ?? false
  }

  // MARK: The writer

  package func isMapped(_ slot: Int) -> Bool { startWord(slot).pointee.load(ordering: .relaxed) != 0 }

  private func misses(_ slot: Int) -> UnsafeMutablePointer<Atomic<Int>> {
    (address(slot) + 48).assumingMemoryBound(to: Atomic<Int>.self)
  }

  /// Counts a read that found the segment not mapped. Returns the number of such reads since it was mapped.
  package func countMiss(_ slot: Int) -> Int { misses(slot).pointee.wrappingAdd(1, ordering: .relaxed).newValue }

  /// Returns the capacity of a segment, 0 for an empty slot; cheap enough to call for every entry of an index.
  @inline(__always)
  package func plannedByteCount(_ slot: Int) -> Int { address(slot).load(fromByteOffset: 40, as: Int.self) }

  /// Raises the mark below which a segment's records are vouched for; it never falls. If another segment took the
  /// slot during the sync, the mark is not raised.
  package func raiseMark(of segment: Segment, to offset: Int) {
    guard self.segment(segment.slot) === segment else { return }
    vouched(segment.slot).pointee.max(offset, ordering: .relaxed)
  }

  fileprivate func appendSlot() {
    lock.lock()
    defer { lock.unlock() }
    segments.append(nil)
  }

  /// Enters a segment. Returns the free slots that this adds before its slot, and the change of the number of mapped
  /// segments.
  fileprivate func insert(
    _ segment: Segment, byteCount: Int, vouchedUpTo: Int, firstSequence: UInt64
  ) -> (freeSlots: [Int], mapped: Int) {
    var freeSlots: [Int] = []
    lock.lock()
    defer { lock.unlock() }
    while segments.count <= segment.slot {
      if segments.count < segment.slot { freeSlots.append(segments.count) }
      segments.append(nil)
    }
    let descriptor = address(segment.slot)
    readable(segment.slot).pointee.store(segment.storage?.byteCount ?? 0, ordering: .relaxed)
    let mapped = show(segment.storage?.mapping, slot: segment.slot)
    vouched(segment.slot).pointee.store(vouchedUpTo, ordering: .relaxed)
    descriptor.storeBytes(of: segment.id, toByteOffset: 24, as: UInt64.self)
    descriptor.storeBytes(of: firstSequence, toByteOffset: 32, as: UInt64.self)
    descriptor.storeBytes(of: byteCount, toByteOffset: 40, as: Int.self)
    segments[segment.slot] = segment
    return (freeSlots, mapped)
  }

  /// Publishes a mapping of a segment, or that it has none. Returns how many more segments are mapped: 1, 0 or -1.
  fileprivate func show(_ mapping: Mapping?, slot: Int) -> Int {
    if let mapping { readable(slot).pointee.min(mapping.byteCount, ordering: .relaxed) }
    let before = startWord(slot).pointee.exchange(UInt(bitPattern: mapping?.start), ordering: .releasing)
    misses(slot).pointee.store(0, ordering: .relaxed)
    return (mapping == nil ? 0 : 1) - (before == 0 ? 0 : 1)
  }

  fileprivate func setFirstSequence(_ sequence: UInt64, slot: Int) {
    address(slot).storeBytes(of: sequence, toByteOffset: 32, as: UInt64.self)
  }

  /// Empties a slot. Returns the change of the number of mapped segments.
  fileprivate func remove(slot: Int) -> Int {
    lock.lock()
    defer { lock.unlock() }
    let mapped = show(nil, slot: slot)
    readable(slot).pointee.store(0, ordering: .relaxed)
    address(slot).storeBytes(of: 0, toByteOffset: 40, as: Int.self)
    segments[slot] = nil
    return mapped
  }
}

/// The writer's side of a segment table: it alone changes the table and reaches the accounts of the segments.
///
/// It cannot be copied. The loaded store owns it first, and then the state behind the store's commit lock. So the
/// compiler checks that each access holds that lock.
package struct SegmentAccounts: ~Copyable {
  package let table: SegmentTable
  private var freeSlots: [Int] = []
  private var turn = 0
  /// The most segments that are mapped at a time, and the number mapped now.
  package var mappedLimit = Int.max
  package private(set) var mappedCount = 0

  /// Returns nil if there is no memory for the table.
  init?(store: StoreID) {
    guard let table = SegmentTable(store: store) else { return nil }
    self.table = table
  }

  package subscript(_ segment: Segment) -> SegmentAccount {
    @inline(__always) _read { yield segment.account(self).pointee }
    @inline(__always) _modify {
      let use = segment.account(self).pointee.fileUse
      yield &segment.account(self).pointee
      if segment.account(self).pointee.fileUse != use { keepFile(of: segment) }
    }
  }

  func keepFile(of segment: Segment) {
    guard let storage = segment.storage, storage.access == .readWrite else { return }
    let use = self[segment].fileUse
    storage.keepFile(use == .kept, isUnsynced: use == .unsynced)
  }

  /// Enters a live key record or payload of the segment in a slot; does nothing without one.
  mutating func addLive(_ slot: Int, units: Int) { account(slot)?.pointee.live.add(units: units) }

  /// Raises the tail of a segment to `end`.
  mutating func raiseTail(_ slot: Int, to end: Int) { account(slot)?.pointee.fill.raiseTail(to: end) }

  /// Marks a key record or a payload as killed by the frame `sequence`. Returns true if a sealed segment has no live
  /// record left.
  mutating func killLive(_ slot: Int, units: Int, sequence: UInt64) -> Bool {
    guard let account = account(slot) else { return false }
    account.pointee.live.kill(units: units, sequence: sequence)
    return account.pointee.live.count == 0 && account.pointee.state == .sealed
  }

  /// Notes that a head has died before a payload that other keys use.
  mutating func bindHead(_ slot: Int, units: Int) { account(slot)?.pointee.live.bind(units: units) }

  /// Notes that a bound head has left the segment, or that its payload has died.
  mutating func unbindHead(_ slot: Int, units: Int) { account(slot)?.pointee.live.unbind(units: units) }

  /// Whether there is a segment in the slot that reaches to `end`.
  func reaches(_ slot: Int, _ end: Int) -> Bool { account(slot).map { end <= $0.pointee.byteCount } ?? false }

  /// The account of the segment in a slot.
  @inline(__always)
  private func account(_ slot: Int) -> UnsafeMutablePointer<SegmentAccount>? {
    slot < table.segments.count ? table.segments[slot]?.account(self) : nil
  }

  /// By slot.
  package var all: [Segment?] { table.segments }

  package func segment(_ slot: Int) -> Segment? { slot < table.segments.count ? table.segments[slot] : nil }

  /// Takes a slot for a new segment; nil if none is left.
  package mutating func takeSlot() -> Int? {
    if let slot = freeSlots.popLast() { return slot }
    guard table.segments.count < SegmentTable.slotLimit else { return nil }
    table.appendSlot()
    return table.segments.count - 1
  }

  /// Frees a slot without a segment.
  package mutating func freeSlot(_ slot: Int) { freeSlots.append(slot) }

  /// Enters a segment under its slot, which was taken or is behind the last.
  package mutating func insert(_ segment: Segment, vouchedUpTo: Int, firstSequence: UInt64) {
    let entered = table.insert(
      segment, byteCount: self[segment].byteCount, vouchedUpTo: vouchedUpTo, firstSequence: firstSequence)
    freeSlots += entered.freeSlots
    freeSlots.removeAll { $0 == segment.slot }
    mappedCount += entered.mapped
  }

  /// Publishes the current mapping of a segment's storage.
  package mutating func remap(_ segment: Segment) { show(segment.storage?.mapping, slot: segment.slot) }

  /// Publishes a mapping of a segment, or that it has none.
  package mutating func show(_ mapping: Mapping?, slot: Int) { mappedCount += table.show(mapping, slot: slot) }

  /// Returns the segment in the next slot in turn; nil if the slot is empty.
  package mutating func nextInTurn() -> Segment? {
    turn = turn + 1 < table.segments.count ? turn + 1 : 0
    return turn < table.segments.count ? table.segments[turn] : nil
  }

  package mutating func setFirstSequence(_ sequence: UInt64, slot: Int) {
    table.setFirstSequence(sequence, slot: slot)
  }

  /// Removes a segment that no location names and no reader has pinned; its slot stays taken until it is freed.
  package mutating func remove(slot: Int) { mappedCount += table.remove(slot: slot) }

  /// Places a record with a head of `headByteCount` bytes and `payloadByteCount` bytes behind it. Returns nil if it
  /// does not fit. ``SegmentAccount/filled(_:isCarried:)`` must follow for each.
  package mutating func reserve(
    in segment: Segment, headByteCount: Int, payloadByteCount: Int, pageAligned: Bool
  ) -> Reservation? {
    let account = segment.account(self)
    let tail = account.pointee.fill.tail
    let payload = RecordHeader.payloadPosition(offset: tail, headByteCount: headByteCount, pageAligned: pageAligned)
    let end = roundUp(payload + payloadByteCount, to: Unit.byteCount)
    guard account.pointee.state == .open, end <= account.pointee.byteCount, tail < Location.offsetLimit else {
      return nil
    }
    let reservation = Reservation(
      segment: segment, window: segment.storage?.window, offset: tail, payloadOffset: payload - tail, endOffset: end)
    account.pointee.fill.add(reservation)
    return reservation
  }
}
