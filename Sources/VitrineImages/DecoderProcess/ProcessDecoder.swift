import Foundation
import Vitrine

/// Decodes in separate processes, so that a crash of a decoder costs only one picture, and its memory is separate from
/// the app's.
///
/// Each process runs `vitrine-decoder`, a product of this package that the app must include. It gets a copy of the
/// picture's bytes, and writes the pixels to memory that is then frozen and mapped here without a copy on Linux, or
/// copied on other systems. A small picture costs 0.25 ms more than in the calling process. A large one also costs the
/// allocation of new memory each time. The first picture costs the start of a process, some tens of milliseconds.
///
/// A process is limited in memory (`RLIMIT_AS`) and in processor time (`RLIMIT_CPU`), and is killed if it does not
/// answer. Hostile bytes may control a process. So all its answers are checked against the request, and pixels cannot
/// change once they are shown.
///
/// On Linux with x86-64 or ARM64 processors, a process is in a sandbox: it has no network, starts no program, sends no
/// signal to another process, and changes no file. Since Linux 5.13, it reads no files but those of libraries and fonts,
/// if the kernel has Landlock. On other systems, a process keeps the rights of its user.
///
/// Thread-safe. A call blocks its thread, and waits while all processes are busy. The processes end with the decoder.
/// If a program ignores `SIGCHLD`, or waits for children that it did not start, errors cannot tell how a process died.
public final class ProcessDecoder: PictureDecoding {
  /// The options of decoder processes.
  public struct Options: Sendable {
    /// The limits of each decoding. A picture beyond them is an ``ImageError``.
    public var limits: DecodingLimits
    /// The number of concurrent processes. Each is started when it is first needed.
    public var processCount = max(1, min(ProcessInfo.processInfo.activeProcessorCount, 4))
    /// The number of pictures after which a process is replaced. This limits the harm of a process that hostile bytes
    /// control without notice. With 1, each picture gets a new process.
    public var picturesPerProcess = 256
    /// The bytes of address space of a process beyond `limits.byteCount`, for the picture's file and for the
    /// libraries.
    public var furtherByteCount = 256 << 20
    /// The milliseconds that a process may take to answer beyond the time limit of a decoding.
    public var graceMilliseconds = 2_000
    /// The milliseconds that a process may take to start.
    public var startMilliseconds = 30_000

    /// Creates options with defaults for all except the limits.
    public init(limits: DecodingLimits = DecodingLimits()) { self.limits = limits }
  }

  private struct State {
    var idle: [DecoderProcess] = []
    var running: Set<Int32> = []
  }

  private let executable: String
  private let arguments: [String]
  private let options: Options
  /// The limits of each decoding.
  public var limits: DecodingLimits { options.limits }
  private let free: DispatchSemaphore
  private let state = Locked(State())

  /// Creates a decoder. `executable` is the path of `vitrine-decoder`; it is first accessed for the first picture.
  public convenience init(executable: String, options: Options = Options()) {
    self.init(executable: executable, arguments: [], options: options)
  }

  /// Creates a decoder. Tests pass further `arguments` to programs that replace `vitrine-decoder`.
  package init(executable: String, arguments: [String], options: Options) {
    self.executable = executable
    self.arguments = arguments
    self.options = options
    free = DispatchSemaphore(value: max(1, options.processCount))
  }

  /// Decodes as ``ImageDecoder/decode(_:sizedBy:)`` does. Also throws `decoderDied`, with the reason, if a process
  /// died during this decoding or gave an invalid answer, and `noDecoder` if no process can be started.
  public func decode(
    _ bytes: RawSpan, sizedBy size: (ImageInfo) throws(ImageError) -> PixelSize?
  ) throws(ImageError) -> DecodedImage {
    try bytes.withUnsafeBytes { buffer throws(ImageError) in
      // Bytes in an unknown format need no process.
      let format = try ImageFormat(PictureBytes(buffer))
      let memory = try SharedMemory(buffer)
      free.wait()
      defer { free.signal() }
      while true {
        let process = try take()
        do throws(DecoderProcess.Failure) {
          let image = try process.decode(
            memory, buffer.count, format, options.limits, grace: options.graceMilliseconds, sizedBy: size)
          giveBack(process)
          return image
        } catch {
          if let error = failure(error, of: process) { throw error }
        }
      }
    }
  }

  /// Reads the header in a process. Throws as ``decode(_:sizedBy:)`` does.
  func info(of bytes: RawSpan) throws(ImageError) -> ImageInfo {
    var found: ImageInfo?
    do throws(ImageError) {
      _ = try decode(bytes) { info throws(ImageError) in
        found = info
        throw .invalidArgument("no pixels are needed")
      }
    } catch {
      guard found != nil else { throw error }
    }
    guard let found else { throw .invalidArgument("a decoder gave pixels without a header") }
    return found
  }

  /// The running processes, for tests.
  package var processIdentifiers: Set<Int32> { state.withLock { $0.running } }

  // MARK: Processes

  /// Returns an idle process or a new one.
  private func take() throws(ImageError) -> DecoderProcess {
    while let process = state.withLock({ $0.idle.popLast() }) {
      if process.isWell { return process }
      discard(process)
    }
    let (sum, overflow) = options.limits.byteCount.addingReportingOverflow(max(0, options.furtherByteCount))
    let process = try DecoderProcess(
      executable, arguments: ["\(overflow ? .max : max(0, sum))"] + arguments,
      milliseconds: options.startMilliseconds)
    state.withLock { _ = $0.running.insert(process.id) }
    return process
  }

  private func giveBack(_ process: DecoderProcess) {
    if process.turn >= options.picturesPerProcess { return discard(process) }
    state.withLock { $0.idle.append(process) }
  }

  private func discard(_ process: DecoderProcess) {
    state.withLock { _ = $0.running.remove(process.id) }
  }

  /// Returns the error, or nil to try again with another process. A process that served other pictures before may have
  /// died because of them, or been killed while idle.
  private func failure(_ failure: DecoderProcess.Failure, of process: DecoderProcess) -> ImageError? {
    if case .picture(let error) = failure {
      giveBack(process)
      return error
    }
    discard(process)
    let reason = process.reason(for: failure)
    if case .late = failure { return .tookTooLong(milliseconds: options.limits.milliseconds) }
    if process.hasUsedItsTime { return .tookTooLong(milliseconds: options.limits.milliseconds) }
    return process.turn > 1 ? nil : .decoderDied(reason: reason)
  }
}
