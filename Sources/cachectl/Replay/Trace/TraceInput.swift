/// The bytes of a trace in order, unpacked. Holds one buffer, however long the trace is.
final class TraceInput {
  private let bytes: any TraceBytes
  private var buffer = [UInt8](repeating: 0, count: 256 << 10)
  private var position = 0
  private var end = 0

  init(_ bytes: any TraceBytes) { self.bytes = bytes }

  /// Returns the next byte, nil at the end.
  func next() throws -> UInt8? {
    if position == end, try !fill() { return nil }
    defer { position += 1 }
    return buffer[position]
  }

  /// Reads up to `count` bytes into the beginning of `target`; returns fewer only at the end.
  func read(_ count: Int, into target: inout [UInt8]) throws -> Int {
    var filled = 0
    while filled < count {
      if position == end, try !fill() { break }
      let step = min(count - filled, end - position)
      for offset in 0..<step { target[filled + offset] = buffer[position + offset] }
      filled += step
      position += step
    }
    return filled
  }

  /// Returns the first bytes of an input that has not been read yet, without reading them.
  func beginning(_ count: Int) throws -> ArraySlice<UInt8> {
    if position == end { _ = try fill() }
    return buffer[position..<min(end, position + count)]
  }

  /// Returns false at the end.
  private func fill() throws -> Bool {
    position = 0
    end = 0
    end = try buffer.withUnsafeMutableBytes { try bytes.read(into: $0) }
    return end > 0
  }
}

/// The unpacked bytes of a trace file.
protocol TraceBytes: AnyObject {
  /// Reads bytes into the beginning of the buffer; returns their number, 0 only at the end. Throws `TraceDamage` once
  /// all bytes before the damage have been returned.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
}
