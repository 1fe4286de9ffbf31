import CDecoderProcess

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// One end of the socket that carries frames.
package struct DecoderSocket {
  package enum Failure: Error, Hashable {
    case late
    case closed
    /// The received bytes are not a frame.
    case rubbish
    case errno(Int32)

    fileprivate init(_ number: Int32) {
      self =
        switch number {
        case ETIMEDOUT: .late
        case EPIPE: .closed
        default: .errno(number)
        }
    }
  }

  package let descriptor: Int32

  package init(descriptor: Int32) { self.descriptor = descriptor }

  package func send(_ frame: DecoderFrame, _ memory: SharedMemory? = nil) throws(Failure) {
    let error = frame.bytes.withUnsafeBytes {
      vitrine_process_send(descriptor, $0.baseAddress, $0.count, memory?.descriptor ?? -1)
    }
    if error != 0 { throw Failure(error) }
  }

  /// Receives a frame within `milliseconds` from now, or without a time limit if nil. Closes received descriptors.
  package func receive(milliseconds: Int?) throws(Failure) -> DecoderFrame {
    try receive(milliseconds, nil)
  }

  /// Receives a frame, and the memory sent with it.
  package func receiveWithMemory() throws(Failure) -> (DecoderFrame, SharedMemory?) {
    var found: Int32 = -1
    let frame = try receive(nil, &found)
    return (frame, found < 0 ? nil : SharedMemory(descriptor: found))
  }

  private func receive(_ milliseconds: Int?, _ found: UnsafeMutablePointer<Int32>?) throws(Failure) -> DecoderFrame {
    var bytes = [UInt8](repeating: 0, count: DecoderFrame.byteCount)
    let error = bytes.withUnsafeMutableBytes {
      vitrine_process_receive(
        descriptor, $0.baseAddress, $0.count, found, milliseconds.map { Int64(max(0, $0)) } ?? -1)
    }
    if error != 0 { throw Failure(error) }
    guard let frame = DecoderFrame(bytes) else {
      if let found, found.pointee >= 0 { close(found.pointee) }
      throw .rubbish
    }
    return frame
  }
}
