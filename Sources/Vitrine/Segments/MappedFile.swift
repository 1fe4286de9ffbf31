import CVitrineSystem

/// A mapping that is read as a file. Reads raise no signal if the system can avoid it. A page that cannot be delivered
/// ends the read. If it is the first page of the read, the read throws. Only a private mapping can be written to,
/// because it is memory.
final class MappedFile: File {
  private let mapping: Mapping
  private let isPrivate: Bool

  init(_ mapping: Mapping, isPrivate: Bool) {
    self.mapping = mapping
    self.isPrivate = isPrivate
  }

  var path: String { "a mapped segment" }
  var announcesStores: Bool { false }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
    let count = min(buffer.count, max(0, mapping.byteCount - offset))
    guard count > 0, let target = buffer.baseAddress else { return 0 }
    let result = copyMapped(target, mapping.start + offset, count)
    if result == 0 { return count }
    // A segment that was cut after it was mapped is shorter than its mapping. Its file would end the read there, too.
    var done = 0
    while done < count {
      let step = min(count - done, 4096 - (offset + done) % 4096)
      if copyMapped(target + done, mapping.start + offset + done, step) != 0 { break }
      done += step
    }
    if done == 0 { throw SystemError(code: result, operation: "read", path: path) }
    return done
  }

  func status() -> FileStatus { FileStatus(byteCount: mapping.byteCount, allocatedByteCount: 0) }

  private var refusal: SystemError { SystemError(code: SystemError.readOnly, operation: "change", path: path) }
  func write(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, at offset: Int, from site: CallSite
  ) throws(SystemError) {
    let end = offset + first.count + second.count
    guard isPrivate, offset >= 0, end <= mapping.byteCount else { throw refusal }
    try write(first, offset)
    try write(second, offset + first.count)
  }
  private func write(_ bytes: UnsafeRawBufferPointer, _ offset: Int) throws(SystemError) {
    guard let source = bytes.baseAddress, bytes.count > 0 else { return }
    let target = mapping.start + offset
    // Pages of zeros in place of lost ones must not be written to.
    let isLost = mapping.isDamaged(UnsafeRawBufferPointer(start: target, count: bytes.count))
    let result = isLost ? SystemError.ioError : copyMapped(target, source, bytes.count)
    if result != 0 { throw SystemError(code: result, operation: "write", path: path) }
  }
  func allocate(byteCount: Int, from site: CallSite) throws(SystemError) { throw refusal }
  func truncate(to byteCount: Int, from site: CallSite) throws(SystemError) { throw refusal }
  func sync(from site: CallSite) throws(SystemError) { throw refusal }
  func map(byteCount: Int, writable: Bool) throws(SystemError) -> Mapping { throw refusal }
  func tryLock() throws(SystemError) -> Bool { throw refusal }
  func willStore(_ range: Range<Int>) {}
  func didStore(_ range: Range<Int>, from site: CallSite) {}
}
