import Synchronization

/// A file of lines about the events of a server, one line in the form logfmt for each.
///
/// A thread of its own writes the lines, so no event loop waits for the disk or for a pipe. Up to 1 MiB of lines wait
/// for it. Beyond that, and after a failed write, lines are dropped and counted. Thread-safe.
public final class ServerLog: Sendable {
  private let path: String?
  private let state: Mutex<State>
  private let wakes: (read: Int32, write: Int32)
  private let thread = Mutex<LoopThread?>(nil)
  private let dropped = Atomic<UInt64>(0)

  private struct State {
    var lines: [UInt8] = []
    /// Lines for the present file, if another is to be opened.
    var earlierLines: [UInt8] = []
    var reopens = false
    var isEnding = false
    /// Whether the thread was woken and has not looked yet.
    var isWoken = false
  }

  private static let mostWaiting = 1 << 20
  /// A pipe that is ready takes as many bytes without blocking.
  private static let pieceByteCount = 4096
  /// Milliseconds between two looks whether the log ends, while a pipe takes nothing.
  private static let patience: Int32 = 100

  /// Opens the file at `path` for appending, and makes it if it is missing, with the permissions 0640. Nil is the
  /// standard output. Throws `log` if the file cannot be opened.
  public init(path: String?) throws(ServerError) {
    self.path = path
    let descriptor = try path.map { path throws(ServerError) in try LogFile.open(path) } ?? LogFile.standardOutput
    guard let wakes = LogFile.pipe() else {
      LogFile.close(descriptor)
      throw .noResources("no pipe for the log")
    }
    self.wakes = wakes
    state = Mutex(State())
    let made = try LoopThread { [self] in run(descriptor) }
    thread.withLock { $0 = made }
  }

  /// The number of lines that were not written.
  public var droppedLineCount: UInt64 { dropped.load(ordering: .relaxed) }

  /// Opens the file anew, for a program that has moved it away. Returns before the file is open. Keeps the old file if
  /// that fails. Earlier lines go to the old file, and later ones to the new file.
  public func reopen() {
    change { state in
      state.earlierLines += state.lines
      state.lines = []
      state.reopens = true
    }
  }

  /// Writes the lines that wait and closes the file. A pipe that takes nothing loses them. Further lines are dropped.
  public func close() {
    change { $0.isEnding = true }
    let ended = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    guard let ended else { return }
    ended.join()
    LogFile.close(wakes.read)
    LogFile.close(wakes.write)
  }

  func write(_ line: LogLine) {
    let isKept = change { state in
      let waitingCount = state.earlierLines.count + state.lines.count
      guard waitingCount + line.text.count < ServerLog.mostWaiting, !state.isEnding else { return false }
      state.lines += line.text
      state.lines.append(UInt8(ascii: "\n"))
      return true
    }
    if !isKept { dropped.wrappingAdd(1, ordering: .relaxed) }
  }

  @discardableResult
  private func change<R: Sendable>(_ body: (inout State) -> R) -> R {
    state.withLock { state in
      let wasEnding = state.isEnding
      let result = body(&state)
      // After the end the pipe may be closed.
      if !state.isWoken, !wasEnding {
        state.isWoken = true
        LogFile.wake(wakes.write)
      }
      return result
    }
  }

  // MARK: The thread

  private func run(_ first: Int32) {
    LogFile.blockPipeSignal()
    var descriptor = first
    var isWhole = true
    var goesOn = true
    while goesOn {
      LogFile.wait(wakes.read)
      let (earlierLines, lines, reopens) = state.withLock { state in
        defer { (state.earlierLines, state.lines, state.reopens, state.isWoken) = ([], [], false, false) }
        goesOn = !state.isEnding
        return (state.earlierLines, state.lines, state.reopens)
      }
      write(earlierLines, to: descriptor, &isWhole)
      if reopens, let path {
        do throws(ServerError) {
          let opened = try LogFile.open(path)
          LogFile.close(descriptor)
          (descriptor, isWhole) = (opened, true)
        } catch {
          var line = LogLine("reopening-failed")
          line.add("reason", error.description)
          write(line.text + [UInt8(ascii: "\n")], to: descriptor, &isWhole)
        }
      }
      write(lines, to: descriptor, &isWhole)
    }
    LogFile.close(descriptor)
  }

  /// `isWhole` tells whether the file ends with a whole line. If not, a line end comes first.
  private func write(_ lines: [UInt8], to descriptor: Int32, _ isWhole: inout Bool) {
    if lines.isEmpty { return }
    let bytes = isWhole ? lines : [UInt8(ascii: "\n")] + lines
    bytes.withUnsafeBytes { lines in
      var offset = 0
      while offset < lines.count {
        guard LogFile.isReady(descriptor, milliseconds: ServerLog.patience) else {
          if state.withLock({ $0.isEnding }) { break }
          continue
        }
        let end = min(lines.count, offset + ServerLog.pieceByteCount)
        guard let count = LogFile.write(UnsafeRawBufferPointer(rebasing: lines[offset..<end]), to: descriptor) else {
          break
        }
        offset += count
      }
      if offset > 0 { isWhole = lines[offset - 1] == UInt8(ascii: "\n") }
      let lost = lines[offset...].count { $0 == UInt8(ascii: "\n") }
      dropped.wrappingAdd(UInt64(lost), ordering: .relaxed)
    }
  }
}
