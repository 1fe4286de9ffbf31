/// Little-endian integers in raw memory, at any alignment. Callers have checked the range.
extension UnsafeRawPointer {
  @inline(__always) func u8(_ offset: Int) -> UInt8 { load(fromByteOffset: offset, as: UInt8.self) }
  @inline(__always) func u16(_ offset: Int) -> UInt16 {
    .init(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt16.self))
  }
  @inline(__always) func u32(_ offset: Int) -> UInt32 {
    .init(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }
  @inline(__always) func u64(_ offset: Int) -> UInt64 {
    .init(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }
  @inline(__always) func i64(_ offset: Int) -> Int64 { Int64(bitPattern: u64(offset)) }
}

extension UnsafeMutableRawPointer {
  @inline(__always) func put<T: FixedWidthInteger>(_ value: T, at offset: Int) {
    storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
  }
}

/// Memory that grows at its end and is reused, for building heads and frames.
///
/// Its three fields lie in raw memory, where access costs no exclusivity check: a put appends some fifty times.
///
/// Invariant: `[0, count)` of `memory` is initialized, `capacity` is allocated. Not thread-safe; has one owner.
package final class ByteBuffer: @unchecked Sendable {
  private struct State {
    var memory: UnsafeMutableRawPointer
    var capacity: Int
    var count: Int
  }
  private let state: UnsafeMutablePointer<State>

  @inline(__always)
  private var memory: UnsafeMutableRawPointer {
    get { state.pointee.memory }
    set { state.pointee.memory = newValue }
  }
  @inline(__always)
  package private(set) var capacity: Int {
    get { state.pointee.capacity }
    set { state.pointee.capacity = newValue }
  }
  @inline(__always)
  package private(set) var count: Int {
    get { state.pointee.count }
    set { state.pointee.count = newValue }
  }

  package init(capacity: Int = 4096) {
    let capacity = max(capacity, 64)
    state = .allocate(capacity: 1)
    state.initialize(
      to: State(memory: .allocate(byteCount: capacity, alignment: 64), capacity: capacity, count: 0))
  }

  deinit {
    memory.deallocate()
    state.deallocate()
  }

  package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: count) }

  /// Removes the content, and frees the memory if it has grown beyond `keeping` bytes.
  package func removeAll(keeping: Int = 1 << 20) {
    count = 0
    guard capacity > keeping else { return }
    memory.deallocate()
    capacity = 4096
    memory = .allocate(byteCount: capacity, alignment: 64)
  }

  @inline(__always)
  private func reserve(_ more: Int) {
    if count + more > capacity { grow(more) }
  }

  private func grow(_ more: Int) {
    let grown = max(capacity * 2, count + more)
    let moved = UnsafeMutableRawPointer.allocate(byteCount: grown, alignment: 64)
    moved.copyMemory(from: memory, byteCount: count)
    memory.deallocate()
    memory = moved
    capacity = grown
  }

  @inline(__always)
  package func append<T: FixedWidthInteger>(_ value: T) {
    reserve(MemoryLayout<T>.size)
    memory.put(value, at: count)
    count += MemoryLayout<T>.size
  }

  package func append(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress, bytes.count > 0 else { return }
    reserve(bytes.count)
    (memory + count).copyMemory(from: start, byteCount: bytes.count)
    count += bytes.count
  }

  package func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }

  /// Appends zeros up to a multiple of `alignment`, or up to `length`.
  package func pad(toMultipleOf alignment: Int) { pad(to: (count + alignment - 1) / alignment * alignment) }

  package func pad(to length: Int) {
    guard length > count else { return }
    reserve(length - count)
    zeroMemory(memory + count, length - count)
    count = length
  }

  /// Overwrites bytes that were appended before.
  package func set<T: FixedWidthInteger>(_ value: T, at offset: Int) {
    precondition(offset >= 0 && offset + MemoryLayout<T>.size <= count)
    memory.put(value, at: offset)
  }

  /// Replaces the content: calls `fill` with space for `length` bytes. `fill` returns the number of bytes that it
  /// wrote.
  package func withSpace(_ length: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Int) {
    count = 0
    reserve(length)
    count = fill(UnsafeMutableRawBufferPointer(start: memory, count: length))
  }
}

/// Reads integers and ranges from untrusted bytes: every read is checked, and one past the end returns nil.
package struct ByteReader {
  package let bytes: UnsafeRawBufferPointer
  package private(set) var offset = 0

  package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  package var remaining: Int { bytes.count - offset }

  package mutating func next<T: FixedWidthInteger>(_: T.Type = T.self) -> T? {
    let size = MemoryLayout<T>.size
    guard remaining >= size else { return nil }
    defer { offset += size }
    return T(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: T.self))
  }

  package mutating func range(_ count: Int) -> UnsafeRawBufferPointer? {
    guard count >= 0, count <= remaining else { return nil }
    defer { offset += count }
    return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
  }
}

/// `value` rounded up to a multiple of `alignment`, which is a power of two.
@inline(__always)
package func roundUp(_ value: Int, to alignment: Int) -> Int { (value + alignment - 1) & ~(alignment - 1) }

/// Whether all bytes are zero.
func isZero(_ bytes: UnsafeRawBufferPointer) -> Bool {
  guard let start = bytes.baseAddress, bytes.count > 0 else { return true }
  return bytes[0] == 0 && memcmp(start, start + 1, bytes.count - 1) == 0
}

@inline(__always)
func equalBytes(_ a: UnsafeRawPointer, _ b: UnsafeRawBufferPointer) -> Bool {
  b.count == 0 || memcmp(a, b.baseAddress!, b.count) == 0
}
