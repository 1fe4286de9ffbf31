import CDecoderProcess
import Foundation

/// The owner's view of one decoder process. When the last reference is released, the process ends, its socket is
/// closed, and no zombie remains.
///
/// Invariant: ``ProcessDecoder`` lends it to one thread at a time.
final class DecoderProcess: @unchecked Sendable {
  /// The reason for a missing picture. After all except `picture` the process is unusable.
  enum Failure: Error {
    case picture(ImageError)
    case late
    case closed
    case misbehaved(String)
  }

  let id: Int32
  /// The number of pictures requested so far.
  private(set) var turn: UInt32 = 0
  private let socket: DecoderSocket
  private var hasEnded = false

  /// Starts a process and waits until it is ready. Throws `noDecoder`.
  init(_ executable: String, arguments: [String], milliseconds: Int) throws(ImageError) {
    var words: [UnsafeMutablePointer<CChar>?] = ([executable] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var descriptor: Int32 = -1
    var id: pid_t = 0
    let error = vitrine_process_start(executable, &words, &descriptor, &id)
    guard error == 0 else { throw .noDecoder(reason: "\(String(cString: strerror(error))): \(executable)") }
    self.id = id
    socket = DecoderSocket(descriptor: descriptor)
    do throws(DecoderSocket.Failure) {
      let frame = try socket.receive(milliseconds: milliseconds)
      guard frame.kind == .ready, frame.numbers[0] == DecoderFrame.version else { throw .rubbish }
    } catch {
      let reason = reason(for: Failure(error))
      throw .noDecoder(reason: "\(executable) \(reason)")
    }
  }

  deinit { end(waiting: 0) }

  /// Whether the process waits for a picture. If an idle process has sent data or closed its socket, it has died or is
  /// not trustworthy.
  var isWell: Bool { !hasEnded && !vitrine_process_has_spoken(socket.descriptor) }

  /// Decodes one picture. All steps together may take `limits.milliseconds` and `grace` milliseconds more.
  func decode(
    _ bytes: SharedMemory, _ byteCount: Int, _ format: ImageFormat, _ limits: DecodingLimits, grace: Int,
    sizedBy size: (ImageInfo) throws(ImageError) -> PixelSize?
  ) throws(Failure) -> DecodedImage {
    turn &+= 1
    let (sum, overflow) = max(0, limits.milliseconds).addingReportingOverflow(max(0, grace))
    let deadline = Deadline(milliseconds: overflow ? .max : sum)
    let header = try ask(DecoderFrame(picture: byteCount, limits, turn: turn), bytes, deadline, format)
    guard let info = header.info(of: format) else { throw .misbehaved("sent an invalid header") }
    let (wanted, plan) = try Failure.ofPicture { () throws(ImageError) in
      let wanted = try size(info)
      return (wanted, try DecodingPlan(info, atLeast: wanted, limits))
    }
    let memory = try Failure.ofPicture { () throws(ImageError) in try SharedMemory(byteCount: plan.byteCount) }
    let frame = DecoderFrame(pixels: plan.byteCount, atLeast: wanted, turn: turn)
    guard try ask(frame, memory, deadline, format).kind == .drawn else {
      throw .misbehaved("sent an unexpected answer")
    }
    let pixels = try Failure.ofPicture { () throws(ImageError) in try memory.pixels(plan.byteCount) }
    guard let pixels else { throw .misbehaved("did not release the memory of the pixels") }
    return DecodedImage(size: plan.size, bytesPerRow: plan.bytesPerRow, info: info, memory: pixels)
  }

  private func ask(
    _ frame: DecoderFrame, _ memory: SharedMemory, _ deadline: Deadline, _ format: ImageFormat
  ) throws(Failure) -> DecoderFrame {
    let answer: DecoderFrame
    do throws(DecoderSocket.Failure) {
      try socket.send(frame, memory)
      answer = try socket.receive(milliseconds: deadline.millisecondsLeft)
    } catch {
      throw Failure(error)
    }
    guard answer.turn == frame.turn else { throw .misbehaved("answered another request") }
    if let error = answer.error(of: format) { throw .picture(error) }
    return answer
  }

  // MARK: The end

  /// Ends the process. Returns the reason for its end, such as "died by signal 11 (Segmentation fault)".
  func reason(for failure: Failure) -> String {
    // A process that ends closes its socket a moment before its exit status is available, so this waits.
    let ending = end(waiting: 1000, unless: { if case .closed = failure { false } else { true } }())
    switch failure {
    case .picture(let error): return "failed: \(error)"
    case .late: return "was killed: it exceeded the time limit"
    case .misbehaved(let what): return what
    case .closed: return ending
    }
  }

  /// Whether the system ended the process because it exceeded its processor time.
  private(set) var hasUsedItsTime = false

  @discardableResult
  private func end(waiting milliseconds: Int64, unless isAtOnce: Bool = false) -> String {
    if hasEnded { return "has ended" }
    hasEnded = true
    var status: Int32 = 0
    var wasKilled = false
    let error = vitrine_process_end(id, isAtOnce ? 0 : milliseconds, &status, &wasKilled)
    close(socket.descriptor)
    if error != 0 { return "has ended, and another part of this program received its exit status" }
    if wasKilled { return "closed its socket without ending" }
    let signal = vitrine_process_signal(status)
    hasUsedItsTime = signal == SIGXCPU
    return signal == 0
      ? "ended with status \(vitrine_process_exit_status(status))"
      : "died by signal \(signal) (\(String(cString: strsignal(signal))))"
  }
}

extension DecoderProcess.Failure {
  init(_ failure: DecoderSocket.Failure) {
    switch failure {
    case .late: self = .late
    case .closed: self = .closed
    case .rubbish: self = .misbehaved("sent an invalid message")
    case .errno(let number): self = .misbehaved("cannot be reached: \(String(cString: strerror(number)))")
    }
  }

  fileprivate static func ofPicture<R>(_ body: () throws(ImageError) -> R) throws(DecoderProcess.Failure) -> R {
    do throws(ImageError) { return try body() } catch { throw .picture(error) }
  }
}

/// A point in time on the monotonic clock.
private struct Deadline {
  private let nanoseconds: UInt64

  init(milliseconds: Int) {
    let (span, overflow) = UInt64(milliseconds).multipliedReportingOverflow(by: 1_000_000)
    let (end, isNever) = DispatchTime.now().uptimeNanoseconds.addingReportingOverflow(span)
    nanoseconds = overflow || isNever ? .max : end
  }

  var millisecondsLeft: Int {
    let now = DispatchTime.now().uptimeNanoseconds
    return now >= nanoseconds ? 0 : Int(clamping: (nanoseconds - now) / 1_000_000 + 1)
  }
}
