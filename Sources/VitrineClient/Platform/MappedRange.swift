import Vitrine

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A file that the server has passed, open for reading.
final class PassedFile: Sendable {
  let descriptor: Int32

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }
}

/// A range of a file, mapped for reading.
///
/// Invariant: `start` is valid for `byteCount` bytes as long as `mapping` is referenced.
final class MappedRange: @unchecked Sendable {
  private let mapping: Mapping
  private let start: UnsafeRawPointer
  private let byteCount: Int

  /// Throws `notUnderstood` if the file is too short for the range, and `noResources` if it cannot be mapped. Installs
  /// the bus error guard.
  init(of file: PassedFile, _ range: Range<Int>) throws(ClientError) {
    var status = stat()
    guard fstat(file.descriptor, &status) == 0, status.st_size >= range.upperBound else {
      throw .notUnderstood("the file of a value is too short")
    }
    do throws(StoreError) { try CacheStore.installBusErrorGuard() } catch { throw .noResources("\(error)") }
    let page = Int(sysconf(Int32(_SC_PAGESIZE)))
    let first = range.lowerBound / page * page
    let count = range.upperBound - first
    let memory = mmap(nil, count, PROT_READ, MAP_SHARED, file.descriptor, off_t(first))
    guard let memory, memory != MAP_FAILED else { throw .noResources(String(cString: strerror(errno))) }
    nonisolated(unsafe) let start = memory
    mapping = Mapping(start: memory, byteCount: count, showsPageCache: true) { munmap(start, count) }
    // A page that cannot be read is replaced by zeros, in place of a signal.
    mapping.guardPages(isWritable: false)
    self.start = UnsafeRawPointer(memory) + (range.lowerBound - first)
    byteCount = range.count
  }

  func withBytes<R: ~Copyable, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
    try body(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(start: start, count: byteCount)))
  }

  /// Whether zeros replace a page of the range.
  var isDamaged: Bool { mapping.isDamaged(UnsafeRawBufferPointer(start: start, count: byteCount)) }
}
