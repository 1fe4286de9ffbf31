/// The two checkpoint files.
package struct CheckpointSet {
  package struct Slot {
    package var file: (any File)?
    package var header: CheckpointHeader?
    /// The header is all zeros: no checkpoint was written to the file, or its header was erased.
    package var isBlank = false
    /// Parts of two headers, or a part of the first one, that a power loss has left. No checkpoint was published since.
    var torn: CheckpointHeader.Torn?
    /// The usable bytes from its start. If the file system promises allocated blocks, bytes behind the blocks that
    /// a crash has left do not count.
    package var room: Int
    /// The bytes that the ledger counts for it.
    package var chargedByteCount: Int

    /// Notes an allocation after its sync. Returns by how many bytes the file has grown.
    mutating func noteRoom(_ allocated: Int) throws(SystemError) -> Int {
      guard let file else { return 0 }
      let before = chargedByteCount
      room = max(room, allocated)
      chargedByteCount = try file.status().chargedByteCount(atMost: room)
      return chargedByteCount - before
    }
  }
  package private(set) var slots: [Slot]
  /// The most bytes of a checkpoint that fit in either file.
  var room: Int { slots.map(\.room).min() ?? 0 }
  /// The version of a checkpoint that a later version of the library has written.
  package var newerVersion: UInt32?
  /// The slot of the checkpoint that was loaded or published last.
  package private(set) var current: Int?
  /// The highest generation in use, also by failed attempts.
  private var givenGeneration: UInt64 = 0

  /// Leaves a slot out: its header is not of this store.
  mutating func leaveOut(_ index: Int) { slots[index].header = nil }

  mutating func use(_ index: Int) { current = index }

  /// Notes a file made for a slot that had none.
  mutating func enter(_ file: any File, _ index: Int) { slots[index].file = file }

  /// Notes an allocation after its sync. Returns by how many bytes the file has grown.
  mutating func noteRoom(_ allocated: Int, _ index: Int) throws(SystemError) -> Int {
    try slots[index].noteRoom(allocated)
  }

  /// Cuts the file of a slot. The ``current`` checkpoint keeps all of its bytes; the next one overwrites any other.
  /// Returns the change of the bytes that the file takes.
  mutating func cut(to byteCount: Int, _ index: Int) throws(SystemError) -> Int {
    guard let file = slots[index].file else { return 0 }
    let least = index == current ? slots[index].header?.leastFileByteCount ?? slots[index].room : 0
    let byteCount = max(byteCount, roundUp(least, to: 4096))
    try file.truncate(to: byteCount)
    slots[index].room = byteCount
    return try slots[index].noteRoom(byteCount)
  }

  /// Erases the header of the slot that is not ``current``, and syncs it. From then on, if the current checkpoint
  /// cannot be read, an opening rebuilds the index from the segments. Otherwise it could load the older state, and the
  /// log lacks the changes since. Costs one write and one sync, or nothing if the header is blank already.
  mutating func eraseOlder() throws(SystemError) { try eraseHeader { _ in true } }

  /// Erases a header that was passed over for ``current``: a newer one whose body could not be read, or one that could
  /// not be read itself. The log continues from the current checkpoint. The other one may be readable the next time,
  /// but the new log does not continue from it. Costs one write and one sync, or nothing if there is no such header.
  mutating func erasePassedOver() throws(SystemError) {
    guard let generation = current.flatMap({ slots[$0].header?.generation }) else { return }
    try eraseHeader { slot in slot.header.map { $0.generation > generation } ?? true }
  }

  private mutating func eraseHeader(where isWanted: (Slot) -> Bool) throws(SystemError) {
    guard let current else { return }
    for index in slots.indices where index != current && !slots[index].isBlank && isWanted(slots[index]) {
      guard let file = slots[index].file else { continue }
      try file.write([UInt8](repeating: 0, count: CheckpointHeader.byteCount), at: 0)
      try file.sync()
      slots[index].header = nil
      slots[index].isBlank = true
    }
  }

  /// Notes a checkpoint that was made durable in a slot.
  mutating func publish(_ header: CheckpointHeader, _ index: Int) {
    slots[index].header = header
    slots[index].isBlank = false
    slots[index].torn = nil
    current = index
  }

  private init(slots: [Slot], newerVersion: UInt32?) {
    self.slots = slots
    self.newerVersion = newerVersion
  }

  package init() { self.init(slots: [], newerVersion: nil) }

  /// Slots with a header, newest first.
  package var order: [Int] {
    slots.indices.filter { slots[$0].header != nil }.sorted {
      slots[$0].header!.generation > slots[$1].header!.generation
    }
  }

  /// Returns a generation for one attempt to write a checkpoint. No other attempt has it, even if this one fails before
  /// its header or its process dies. Blocks are bound to their generation, and the next attempt's header may reach the
  /// disk before its blocks replace the old ones. The opening's number, which is durable and never used twice, is in
  /// the upper bits, a counter in the lower.
  package mutating func takeGeneration(opening: UInt64) -> UInt64 {
    let newest = slots.compactMap { $0.header?.generation }.max() ?? 0
    givenGeneration = max(givenGeneration, newest, opening << 32) + 1
    return givenGeneration
  }

  /// Opens the files. A missing file has no header; any other failure to open one is an error.
  package static func open(_ directory: any Directory, access: FileAccess) throws(SystemError) -> CheckpointSet {
    var slots: [Slot] = []
    var newerVersion: UInt32?
    for index in 0..<2 {
      var file: (any File)?
      do throws(SystemError) {
        file = try directory.openFile(CheckpointHeader.fileName(index), access)
      } catch {
        guard error.code == SystemError.missing else { throw error }
      }
      let bytes = (try? file?.read(0..<CheckpointHeader.byteCount)) ?? []
      let header = bytes.withUnsafeBytes { CheckpointHeader($0) }
      newerVersion = bytes.withUnsafeBytes { CheckpointHeader.newerVersion($0) } ?? newerVersion
      let isBlank = bytes.count == CheckpointHeader.byteCount && bytes.allSatisfy { $0 == 0 }
      let status = try file?.status() ?? FileStatus(byteCount: 0, allocatedByteCount: 0)
      let room = directory.promisesAllocation ? min(status.byteCount, status.allocatedByteCount) : status.byteCount
      slots.append(
        Slot(
          file: file, header: header,
          isBlank: isBlank, torn: header == nil && !isBlank ? bytes.withUnsafeBytes { CheckpointHeader.torn($0) } : nil,
          room: room, chargedByteCount: status.chargedByteCount(atMost: room)))
    }
    return CheckpointSet(slots: slots, newerVersion: newerVersion)
  }
}
