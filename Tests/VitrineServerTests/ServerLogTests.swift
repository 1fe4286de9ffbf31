import Foundation
import Glibc
import Testing
import Vitrine

@testable import VitrineServer

/// The log of a server.
struct ServerLogTests {
  private let folder = NSTemporaryDirectory() + "vitrine-log-\(UUID().uuidString)"

  private func inFolder(_ body: (String) throws -> Void) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder + "/log")
  }

  private func lines(_ path: String) -> [String] {
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    return text.components(separatedBy: "\n").dropLast()
  }

  @Test func valuesCannotForgeLines() {
    var line = LogLine("request", now: 0)
    line.add("plain", "a/b?c-d")
    line.add("empty", "")
    line.add("odd", "a b=\"\\\n\r\u{0}\u{7f}ä")
    line.add("count", 7)
    line.add("long", [UInt8](repeating: 0x61, count: 1000))
    let text = String(decoding: line.text, as: UTF8.self)
    #expect(
      text == "time=1970-01-01T00:00:00.000Z event=request plain=a/b?c-d empty=\"\" "
        + #"odd="a b=\"\\\x0a\x0d\x00\x7f\xc3\xa4" count=7 long="# + String(repeating: "a", count: 512))
  }

  @Test func timesAreWrittenInBothForms() {
    #expect(Time.text(1_700_000_000_007) == "2023-11-14T22:13:20.007Z")
    #expect(Time.webText(784_111_777_000) == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(Time.webText(-1) == "Thu, 01 Jan 1970 00:00:00 GMT")
  }

  @Test func requestsAndEventsAreLogged() throws {
    try inFolder { path in
      let log = try ServerLog(path: path)
      do {
        let server = try WebServer {
          $0.log = log
          $0.stalledMilliseconds = 200
        }
        #expect(try server.put("/v1/original/a%20b", [1, 2]).status == 201)
        #expect(try server.get("/v1/original/a%20b").status == 200)
        let client = try server.client()
        try client.send("BAD\u{1}\r\n\r\n")
        #expect(client.isEnded())
        let slow = try server.client()
        try slow.send("GET /")
        #expect(slow.isEnded())
        server.server.stop()
      }
      log.close()
      let lines = lines(path)
      #expect(lines.allSatisfy { $0.hasPrefix("time=") })
      #expect(lines.first?.hasSuffix(" event=start") == true)
      #expect(lines.last?.hasSuffix(" event=stop") == true)
      let requests = lines.filter { $0.contains(" event=request ") }
      #expect(requests.count == 3)
      #expect(requests[0].contains(" peer=127.0.0.1:"))
      #expect(requests[0].contains(" method=PUT target=/v1/original/a%20b status=201 bytes=0 microseconds="))
      #expect(requests[1].contains(" method=GET target=/v1/original/a%20b status=200 bytes=2 "))
      #expect(requests[2].contains(" method=- target=\"\" status=400 "))
      #expect(lines.contains { $0.contains(" event=timeout peer=127.0.0.1:") })
      #expect(log.droppedLineCount == 0)
    }
  }

  @Test func aMovedFileIsOpenedAnew() throws {
    try inFolder { path in
      let log = try ServerLog(path: path)
      log.write(LogLine("first"))
      try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
      log.reopen()
      log.write(LogLine("second"))
      log.close()
      #expect(lines(path + ".1").map { $0.suffix(5) } == ["first"])
      #expect(lines(path).map { $0.suffix(6) } == ["second"])
    }
  }

  @Test func aFileThatCannotBeOpenedAnewStays() throws {
    try inFolder { path in
      let log = try ServerLog(path: path)
      try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      log.reopen()
      log.write(LogLine("second"))
      log.close()
      log.close()
      log.write(LogLine("late"))
      log.reopen()
      #expect(log.droppedLineCount == 1)
      let lines = lines(path + ".1")
      #expect(lines.count == 2)
      #expect(lines.first?.contains("event=reopening-failed reason=") == true)
      #expect(lines.last?.hasSuffix("second") == true)
      #expect(throws: ServerError.self) { try ServerLog(path: path) }
    }
  }

  @Test func aPipeThatTakesNothingBlocksNoCaller() throws {
    try inFolder { path in
      #expect(mkfifo(path, 0o600) == 0)
      // Its reader never reads.
      let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
      defer { close(reader) }
      let log = try ServerLog(path: path)
      for _ in 0..<20_000 {
        var line = LogLine("filler")
        line.add("text", String(repeating: "x", count: 500))
        log.write(line)
      }
      log.close()
      #expect(log.droppedLineCount > 10_000)
    }
  }

  @Test func aPipeWithoutAReaderEndsNoProcess() throws {
    try inFolder { path in
      #expect(mkfifo(path, 0o600) == 0)
      let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
      let log = try ServerLog(path: path)
      close(reader)
      // A program that another test starts may have the reader for a moment.
      while log.droppedLineCount == 0 {
        log.write(LogLine("lost"))
        Thread.sleep(forTimeInterval: 0.01)
      }
      log.close()
    }
  }
}
