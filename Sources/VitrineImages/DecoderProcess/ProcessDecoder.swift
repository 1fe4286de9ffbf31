import Foundation
import Vitrine

/// Decodes in a few processes of their own, so that a crash in a decoder costs one picture, and its memory is not this
/// process's.
///
/// Each process runs `vitrine-decoder`, a product of this package, which the app brings along. It gets a copy of the
/// picture's bytes and writes its pixels to memory that is then frozen and mapped here, not copied (on Linux; elsewhere
/// it is copied). A small picture costs a quarter of a millisecond more than in this process, a large one also what
/// memory costs that is new each time; the first one the start of a process, some tens of milliseconds.
///
/// A process is bounded in memory (`RLIMIT_AS`), in time on a processor (`RLIMIT_CPU`), and killed when it does not answer.
/// Whatever it answers, also in the hands of hostile bytes, is checked against what was asked, and cannot be changed any
/// more when it is shown. It keeps the rights of the user who runs it: this is no sandbox.
///
/// Safe from any number of threads; a call blocks its thread, and waits while all processes are busy. They end with the
/// decoder. A program that ignores `SIGCHLD`, or waits for children that it does not know, hears of the end of these, too,
/// and the errors cannot say any more how they died.
public final class ProcessDecoder: PictureDecoding {
  /// The bounds of decoder processes.
  public struct Options: Sendable {
    /// The limits of each decoding. A picture beyond them is an ``ImageError``.
    public var limits: DecodingLimits
    /// Processes at once; each is started when there is something for it to do.
    public var processCount = max(1, min(ProcessInfo.processInfo.activeProcessorCount, 4))
    /// A process that has served so many pictures is replaced: one that has come into wrong hands unnoticed does harm to no
    /// more. 1 for a process for each picture.
    public var picturesPerProcess = 256
    /// Bytes of address space of a process, beyond those that the limits allow for one picture: for its file, and for what
    /// libraries keep.
    public var furtherByteCount = 256 << 20
    /// What a process may take to answer beyond the limits' own time; and to start.
    public var graceMilliseconds = 2_000
    /// Milliseconds that a process may take to start.
    public var startMilliseconds = 30_000

    /// Makes options with defaults for all but the limits.
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

  /// `executable`: the path of `vitrine-decoder`, which is looked at when the first picture comes.
  public convenience init(executable: String, options: Options = Options()) {
    self.init(executable: executable, arguments: [], options: options)
  }

  /// `arguments`: further ones, for programs that tests put in its place.
  package init(executable: String, arguments: [String], options: Options) {
    self.executable = executable
    self.arguments = arguments
    self.options = options
    free = DispatchSemaphore(value: max(1, options.processCount))
  }

  /// As ``ImageDecoder/decode(_:sizedBy:)``; and throws `decoderDied`, which says how, where a process has died over the
  /// picture or answered what cannot be, `noDecoder` where none can be started.
  public func decode(
    _ bytes: RawSpan, sizedBy size: (ImageInfo) throws(ImageError) -> PixelSize?
  ) throws(ImageError) -> DecodedImage {
    try bytes.withUnsafeBytes { buffer throws(ImageError) in
      // What is no picture at all needs no process.
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

  /// Those that run in this moment, for tests.
  package var processIdentifiers: Set<Int32> { state.withLock { $0.running } }

  // MARK: Processes

  /// One that is idle, or a new one.
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

  /// Nil: the same is to be tried once more, by a process that has seen no other picture. One that has may have died of
  /// that, or been killed while it was idle.
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
