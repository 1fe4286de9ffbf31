import CDecoderProcess
import Foundation

/// The program `vitrine-decoder`: receives pictures from its owner and answers with pixels, until the owner closes the
/// socket. Single-threaded.
package enum DecoderWorker {
  /// The socket to the owner, which the owner passes as descriptor 3.
  package static let socket = DecoderSocket(descriptor: 3)

  /// The current picture: its bytes, their number, and its header.
  private struct Picture {
    let memory: SharedMemory
    let byteCount: Int
    let limits: DecodingLimits
    let info: ImageInfo
  }

  /// Runs the program. `arguments` are its name, and the bytes of address space that it may use beyond its present
  /// size.
  package static func run(_ arguments: [String]) -> Never {
    guard arguments.count == 2, let byteCount = UInt64(arguments[1]), vitrine_process_confine(byteCount) == 0 else {
      FileHandle.standardError.write(Data("VitrineImages starts vitrine-decoder; it does not work by itself\n".utf8))
      exit(2)
    }
    do {
      try socket.send(DecoderFrame(.ready, numbers: [DecoderFrame.version]))
      try serve()
    } catch .closed {
      exit(0)
    } catch {
      exit(3)
    }
  }

  private static func serve() throws(DecoderSocket.Failure) -> Never {
    var picture: Picture?
    while true {
      let (frame, memory) = try socket.receiveWithMemory()
      let answer: DecoderFrame
      do throws(ImageError) {
        switch frame.kind {
        case .picture:
          picture = nil
          let read = try header(frame, memory)
          picture = read
          answer = DecoderFrame(read.info, turn: frame.turn)
        case .pixels:
          guard let read = picture else { throw .invalidArgument("no picture was sent before the request for pixels") }
          picture = nil
          try draw(read, frame, memory)
          answer = DecoderFrame(.drawn, turn: frame.turn)
        default: throw .invalidArgument("the request is of an unknown kind")
        }
      } catch {
        answer = DecoderFrame(error, turn: frame.turn)
      }
      try socket.send(answer)
    }
  }

  private static func decoder(_ limits: DecodingLimits) -> ImageDecoder {
    var decoder = ImageDecoder(limits: limits)
    decoder.drawsVectors = true
    return decoder
  }

  private static func header(_ frame: DecoderFrame, _ memory: SharedMemory?) throws(ImageError) -> Picture {
    let limits = frame.limits
    // A decoder checks the clock itself. This limit covers the code between those checks.
    _ = vitrine_process_limit_time(UInt64(max(0, limits.milliseconds)))
    let byteCount = Int(clamping: frame.numbers[0])
    let decoder = decoder(limits)
    let info = try memory?.withBytes(byteCount, isShared: false) { bytes throws(ImageError) in
      try decoder.header(of: PictureBytes(UnsafeRawBufferPointer(bytes)))
    }
    guard let memory, let info else { throw .outOfMemory(byteCount: byteCount) }
    return Picture(memory: memory, byteCount: byteCount, limits: limits, info: info)
  }

  private static func draw(
    _ picture: Picture, _ frame: DecoderFrame, _ memory: SharedMemory?
  ) throws(ImageError) {
    let plan = try DecodingPlan(picture.info, atLeast: frame.leastSize, picture.limits)
    guard let memory, plan.byteCount == frame.numbers[0] else {
      throw .invalidArgument("the memory for the pixels is missing or has the wrong length")
    }
    let drawn: Void?? = try picture.memory.withBytes(picture.byteCount, isShared: false) { bytes throws(ImageError) in
      try memory.withBytes(plan.byteCount, isShared: true) { pixels throws(ImageError) in
        try decoder(picture.limits).draw(PictureBytes(UnsafeRawBufferPointer(bytes)), plan, into: pixels)
      }
    }
    if drawn == nil || drawn! == nil { throw .outOfMemory(byteCount: plan.byteCount) }
  }
}
