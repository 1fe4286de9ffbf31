import Vitrine

#if canImport(Darwin)
  @preconcurrency import Darwin
#else
  @preconcurrency import Glibc
#endif

/// A second process that puts entries one after the other, reports each, and is killed half-way.
enum KilledWriter {
  /// An entry that the second process writes. It depends only on the number.
  struct Entry {
    let number: Int
    var url: String { "https://example.org/killed/\(number).jpg" }
    var bytes: [UInt8] {
      var noise = Noise(seed: UInt64(number) &* 0x9E37)
      let byteCount = 100 + noise.next(below: 16_000)
      var bytes = [UInt8](repeating: 0, count: byteCount)
      for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: noise.next()) }
      return bytes
    }
  }

  struct Round {
    /// The numbers of the entries whose puts returned.
    var acknowledged: [Int] = []
    /// All entries that it would have written.
    var planned: Range<Int>
  }

  static let mode = "write"

  /// The second process: returns only if it has put all entries before it is killed.
  static func write(to store: String, _ numbers: Range<Int>) throws {
    let store = try CacheStore.open(at: store)
    for number in numbers {
      let entry = Entry(number: number)
      try store.put(entry.bytes, for: entry.url)
      // The put has returned, so from here on the entry must survive the death of this process.
      guard Files.writeAll(Array("\(number)\n".utf8), to: 1) else { return }
    }
    try store.close()
  }

  /// Starts the second process, kills it once it has acknowledged `count` puts, and reads the rest of its output.
  static func run(store: String, planned: Range<Int>, killAfter count: Int) throws -> Round {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw DemoError("make", "a pipe") }
    let (reading, writing) = (ends[0], ends[1])
    defer { _ = close(reading) }
    _ = fcntl(reading, F_SETFD, FD_CLOEXEC)
    #if os(Linux)
      // A short pipe keeps the writer close to the reader, so it never finishes before it is killed.
      let setPipeSize: Int32 = 1031  // F_SETPIPE_SZ, which Glibc's module hides
      _ = fcntl(writing, setPipeSize, 4096)
    #endif

    let child: pid_t
    do {
      defer { _ = close(writing) }
      child = try ChildProcess.spawn(
        ChildProcess.ownProgram, [mode, store, String(planned.lowerBound), String(planned.upperBound)],
        standardOutput: writing)
    }

    var round = Round(planned: planned)
    var line: [UInt8] = []
    var isKilled = false
    var isStuck = false
    var buffer = [UInt8](repeating: 0, count: 512)
    reading: while true {
      var request = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
      let ready = poll(&request, 1, 60_000)
      if ready < 0 && errno == EINTR { continue }
      if ready <= 0 {
        isStuck = true
        break
      }
      let got = read(reading, &buffer, buffer.count)
      if got < 0 && errno == EINTR { continue }
      if got <= 0 { break }
      for byte in buffer[..<got] {
        guard byte == UInt8(ascii: "\n") else {
          line.append(byte)
          continue
        }
        // A line that the kill truncated has no end, and never arrives here.
        if let number = Int(String(decoding: line, as: UTF8.self)) { round.acknowledged.append(number) }
        line.removeAll()
      }
      if !isKilled && round.acknowledged.count >= count {
        kill(child, SIGKILL)
        isKilled = true
      }
    }
    if !isKilled { kill(child, SIGKILL) }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    if isStuck { throw DemoError("the writing process said nothing for a minute") }
    guard isKilled, status & 0x7F == SIGKILL else {
      throw DemoError("the writing process ended by itself (status \(status)) before it could be killed")
    }
    return round
  }
}
