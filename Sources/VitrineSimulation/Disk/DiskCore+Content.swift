import Vitrine

/// The calls on files.
extension DiskCore {
  mutating func read(
    _ file: LiveFile, into buffer: UnsafeMutableRawBufferPointer, at offset: Int, _ path: String
  ) throws(SystemError) -> Int {
    let effect = try begin(.read, path)
    if offset < 0 { throw failure(ErrorCode.invalidArgument, "read", path) }
    var wanted = buffer
    if case .readShort(let byteCount) = effect {
      wanted = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Swift.max(byteCount, 0)))
    }
    let count = file.read(into: wanted, at: offset)
    guard let effect else { return count }
    let found = UnsafeMutableRawBufferPointer(rebasing: wanted[..<count])
    let right = Array(found)
    switch effect {
    case .flipBit(let byte, let bit) where count > 0:
      found[Int(byte.magnitude % UInt(count))] ^= 1 << UInt8(truncatingIfNeeded: bit & 7)
    case .readStale(let part): readStale(file, part, into: found, at: offset)
    case .misdirect(let byteCount): _ = file.read(into: found, at: misdirected(offset, by: byteCount, count, in: file))
    default: break
    }
    let wouldBe = Swift.min(buffer.count, Swift.max(0, file.byteCount - offset))
    if count == wouldBe, found.elementsEqual(right) { faults.takeStrikeBack() }
    return count
  }

  /// Fills the buffer with bytes of an earlier moment, at the file's present length. Zeros stand where the file was
  /// shorter then.
  private func readStale(
    _ file: LiveFile, _ part: Int, into buffer: UnsafeMutableRawBufferPointer, at offset: Int
  ) {
    let earlier = journal.state(afterPart: part).files[file.number]?.live
    var (buffer, offset) = (buffer, offset)
    // Every second time in a single sector only.
    if part % 2 == 1, !buffer.isEmpty {
      let sectors = offset / 512...(offset + buffer.count - 1) / 512
      let sector = sectors.lowerBound + part / 2 % sectors.count
      let range = max(offset, sector * 512)..<min(offset + buffer.count, sector * 512 + 512)
      buffer = UnsafeMutableRawBufferPointer(rebasing: buffer[range.lowerBound - offset..<range.upperBound - offset])
      offset = range.lowerBound
    }
    let count = earlier?.read(into: buffer, at: offset) ?? 0
    UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).initializeMemory(as: UInt8.self, repeating: 0)
  }

  private func misdirected(_ offset: Int, by byteCount: Int, _ count: Int, in file: LiveFile) -> Int {
    offset + byteCount + count <= file.byteCount ? offset + byteCount : 0
  }

  /// Returns the number of bytes that a shortened write counts as written: all, if the file already has the bytes that
  /// are cut off.
  private func writtenByteCount(
    _ file: LiveFile, _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, at offset: Int, cutTo cut: Int
  ) -> Int {
    let count = first.count + second.count
    if cut >= count { return count }
    let rest = Array((Array(first) + Array(second))[cut...])
    var present = [UInt8](repeating: 0, count: rest.count)
    let found = present.withUnsafeMutableBytes { file.read(into: $0, at: offset + cut) }
    return found == rest.count && present == rest ? count : cut
  }

  /// A full disk takes the bytes that fit and then fails, like a real one.
  mutating func write(
    _ file: LiveFile, _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, at offset: Int,
    _ path: String
  ) throws(SystemError) {
    let effect = try begin(.write, path)
    var count = first.count + second.count
    if count == 0 { return }
    if offset < 0 { throw failure(ErrorCode.invalidArgument, "write", path) }
    let (end, overflows) = offset.addingReportingOverflow(count)
    if overflows || end > file.limit { throw failure(ErrorCode.fileTooLarge, "write", path) }
    var code: Int32?
    var offset = offset
    switch effect {
    case .failAfterWriting(let byteCount, let planned):
      count = writtenByteCount(file, first, second, at: offset, cutTo: Swift.max(byteCount, 0))
      code = planned
    case .misdirect(let byteCount):
      let place = misdirected(offset, by: byteCount, count, in: file)
      if place == offset { faults.takeStrikeBack() }
      offset = place
    default: break
    }
    let fitting = fittingByteCount(file, offset..<offset + count)
    if fitting < count {
      count = fitting
      code = ErrorCode.noSpace
    }
    if count > 0 {
      var bytes: [UInt8] = []
      bytes.reserveCapacity(count)
      bytes.append(contentsOf: first.prefix(count))
      bytes.append(contentsOf: second.prefix(count - bytes.count))
      try journal.record(.write(file.number, offset: offset, bytes: bytes), path)
      change(file) { $0.write(bytes, at: offset) }
    }
    guard let code else { return }
    if count == first.count + second.count { journal.noteWholeFailedWrite() }
    throw failure(code, "write", path)
  }

  mutating func allocate(_ file: LiveFile, _ byteCount: Int, _ path: String) throws(SystemError) {
    _ = try begin(.allocate, path)
    if byteCount <= 0 { throw failure(ErrorCode.invalidArgument, "allocate", path) }
    if byteCount > file.limit { throw failure(ErrorCode.fileTooLarge, "allocate", path) }
    guard options.promisesAllocation else {
      if byteCount > file.byteCount { try setLength(file, byteCount, path) }
      return
    }
    if fittingByteCount(file, 0..<byteCount) < byteCount {
      throw failure(ErrorCode.noSpace, "allocate", path)
    }
    try journal.record(.allocate(file.number, byteCount: byteCount), path)
    change(file) { $0.allocate(byteCount) }
  }

  mutating func truncate(_ file: LiveFile, to byteCount: Int, _ path: String) throws(SystemError) {
    _ = try begin(.truncate, path)
    if byteCount < 0 { throw failure(ErrorCode.invalidArgument, "truncate", path) }
    if byteCount > file.limit { throw failure(ErrorCode.fileTooLarge, "truncate", path) }
    try setLength(file, byteCount, path)
  }

  /// Ends a sync that began after this many complete operations.
  mutating func syncFile(_ file: LiveFile, begun: Int, _ path: String) throws(SystemError) {
    switch try begin(.syncFile, path) {
    case .pretend: return
    case .loseUnsyncedPages(let code):
      try journal.record(.loseUnsyncedPages(file.number), path)
      throw failure(code, "sync", path)
    default: try journal.record(.syncFile(file.number, begun: begun), path)
    }
  }

  /// A write-back leaves open which bytes reach the disk before a sync, so only its failure changes anything.
  mutating func writeBack(_ file: LiveFile, _ path: String) throws(SystemError) {
    guard case .loseUnsyncedPages(let code) = try begin(.writeBack, path) else { return }
    try journal.record(.loseUnsyncedPages(file.number), path)
    throw failure(code, "write back", path)
  }

  mutating func map(_ file: LiveFile, _ byteCount: Int, _ path: String) throws(SystemError) -> FileMemory {
    _ = try begin(.map, path)
    if byteCount <= 0 || byteCount > LiveFile.maximumByteCount {
      throw failure(ErrorCode.invalidArgument, "map", path)
    }
    guard
      file.makeMappable(
        reserve: options.mappingByteCount, needed: byteCount, reusesMemory: options.reusesMemory),
      let memory = file.memory
    else {
      throw failure(ErrorCode.noMemory, "map", path)
    }
    return memory
  }

  mutating func tryLock(_ file: LiveFile, for handle: UInt64, _ path: String) throws(SystemError) -> Bool {
    _ = try begin(.lock, path)
    return file.tryLock(for: handle)
  }

  mutating func willStore(_ file: LiveFile, _ range: Range<Int>, _ path: String) {
    file.memory?.noteExtent(range.upperBound)
    if journal.isStopped || range.isEmpty { return }
    misuse.check(storeTo: range, of: file, path)
  }

  mutating func didStore(_ file: LiveFile, _ range: Range<Int>, _ path: String) throws(SystemError) {
    guard !journal.isStopped, file.memory != nil, range.lowerBound >= 0, !range.isEmpty,
      range.upperBound <= file.byteCount
    else { return }
    try journal.record(.store(file.number, offset: range.lowerBound, bytes: file.bytes(range)), path)
    change(file) { $0.notedStore(range) }
  }

  private mutating func setLength(_ file: LiveFile, _ byteCount: Int, _ path: String) throws(SystemError) {
    try journal.record(.truncate(file.number, byteCount: byteCount), path)
    change(file) { $0.setLength(byteCount) }
  }

  /// Returns how many of the range's bytes, from its start, find blocks. Without a promise, even an existing block
  /// may have to be written elsewhere.
  private func fittingByteCount(_ file: LiveFile, _ range: Range<Int>) -> Int {
    var free = space.freePageCount
    let promisesAllocation = options.promisesAllocation
    for page in FileContent.pageRange(range) where !(promisesAllocation && file.content.hasPage(page)) {
      if free == 0 { return Swift.max(page * Page.byteCount - range.lowerBound, 0) }
      free -= 1
    }
    return range.count
  }
}
