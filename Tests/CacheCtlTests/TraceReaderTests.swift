import CacheCtlBase
import Foundation
import Testing
import VitrineSimulation

@testable import CacheCtlTool

/// Every format of a trace, intact and malformed.
@Suite struct TraceReaderTests {
  private let folder: TraceFolder
  private let requests = [
    TraceRequest(object: 7, byteCount: 1), TraceRequest(object: .max, byteCount: 1 << 30),
    TraceRequest(object: 0, byteCount: 4_000_000), TraceRequest(object: 7, byteCount: 1),
  ]

  init() throws { folder = try TraceFolder() }

  @Test func commentsAndBlankLinesAreSkippedAndBlanksSeparateFields() throws {
    let text = "# a comment, with ümläuts\n\n7 1\r\n  18446744073709551615\t1073741824  \n \t\n0 4000000\n#\n7  1"
    let outcome = try folder.read(Data(text.utf8))
    #expect(outcome.failure == nil && outcome.requests == requests)
  }

  @Test func everyFormatInEveryPackingGivesTheSameRequests() throws {
    for plain in [TraceSamples.text(requests), TraceSamples.oracle(requests)] {
      for data in [plain, try TraceSamples.gzip(plain), try TraceSamples.zstd(plain)] {
        let outcome = try folder.read(data)
        #expect(outcome.failure == nil && outcome.requests == requests)
      }
    }
  }

  @Test func severalMembersInARowAreOneTrace() throws {
    let halves = [TraceSamples.text(Array(requests[..<2])), TraceSamples.text(Array(requests[2...]))]
    #expect(try folder.read(TraceSamples.gzip(halves[0]) + TraceSamples.gzip(halves[1])).requests == requests)
    #expect(try folder.read(TraceSamples.zstd(halves[0]) + TraceSamples.zstd(halves[1])).requests == requests)
  }

  /// More than every buffer holds, and a length that is no multiple of one.
  @Test func traceLongerThanTheBuffersIsReadWhole() throws {
    let many = TraceSamples.skewed(50_001, objects: 1 << 20, seed: 3)
    for plain in [TraceSamples.text(many), TraceSamples.oracle(many)] {
      for data in [plain, try TraceSamples.gzip(plain), try TraceSamples.zstd(plain)] {
        let outcome = try folder.read(data)
        #expect(outcome.failure == nil && outcome.requests == many)
      }
    }
  }

  @Test func givenFormatIsNotDetected() throws {
    let text = TraceSamples.text(requests)
    #expect(try folder.read(text, format: .text).requests == requests)
    // 24 characters are a record like any other: its object is 56789012, its size 3456, both as characters.
    let record = try folder.read(Data("123456789012345678901234".utf8), format: .oracle)
    #expect(record.requests == [TraceRequest(object: 0x3231_3039_3837_3635, byteCount: 0x3635_3433)])
    #expect(try folder.read(TraceSamples.oracle(requests), format: .text).failure?.hasPrefix("line 1: ") == true)
  }

  @Test(arguments: [
    ("1 10\nx 10\n", 1, "line 2: the object is not a decimal number below 2^64"),
    ("1 10\n\n-3 10\n", 1, "line 3: the object is not a decimal number below 2^64"),
    ("18446744073709551616 10\n", 0, "line 1: the object is not a decimal number below 2^64"),
    ("1 10\n1x 10\n", 1, "line 2: the object is not a decimal number below 2^64"),
    ("# c\n5\n1 10\n", 0, "line 2: the size is missing"), ("1 10\n5 ", 1, "line 2: the size is missing"),
    ("5 1e3\n", 0, "line 1: the size is not a decimal number"),
    ("5 -1\n", 0, "line 1: the size is not a decimal number"),
    ("5 99999999999999999999\n", 0, "line 1: the size is not a decimal number"),
    ("5 10 2\n", 0, "line 1: there is more than an object and its size"),
    ("5 10 # c\n", 0, "line 1: there is more than an object and its size"),
    ("1 10\n5 0\n", 1, "line 2: a size of 0"),
    ("5 1073741825\n", 0, "line 1: a size of 1073741825 bytes: a value has at most 1 GiB"),
    (
      "5 18446744073709551615\n", 0,
      "line 1: a size of 9223372036854775807 bytes: a value has at most 1 GiB"
    ),
  ])
  func malformedLineIsNamed(_ text: String, _ intact: Int, _ message: String) throws {
    let outcome = try folder.read(Data(text.utf8))
    #expect(outcome.requests.count == intact)
    #expect(outcome.failure == message)
  }

  @Test func malformedRecordIsNamed() throws {
    let data = TraceSamples.oracle(requests)
    let cut = try folder.read(data.dropLast(1))
    #expect(cut.requests == Array(requests.dropLast()))
    #expect(cut.failure == "record 4: it is cut short: 23 of 24 bytes")
    let zero = try folder.read(data + TraceSamples.oracle([TraceRequest(object: 1, byteCount: 0)]))
    #expect(zero.requests == requests && zero.failure == "record 5: a size of 0")
    let large = try folder.read(TraceSamples.oracle([TraceRequest(object: 1, byteCount: 1 << 31)]))
    #expect(large.failure == "record 1: a size of 2147483648 bytes: a value has at most 1 GiB")
  }

  /// Cut anywhere behind the magic, packed data gives some whole requests and then an error.
  @Test(arguments: [TraceFormat.text, .oracle])
  func cutPackedDataIsAnErrorAtItsPlace(_ format: TraceFormat) throws {
    let many = TraceSamples.skewed(300, objects: 1 << 20, seed: 5)
    let plain = format == .text ? TraceSamples.text(many) : TraceSamples.oracle(many)
    let unit = format == .text ? "line" : "record"
    for (data, name) in [(try TraceSamples.gzip(plain), "gzip"), (try TraceSamples.zstd(plain), "zstd")] {
      for length in stride(from: 8, to: data.count, by: 37) + [data.count - 1] {
        let outcome = try folder.read(data.prefix(length), format: format)
        #expect(Array(many.prefix(outcome.requests.count)) == outcome.requests)
        let damage = "the \(name) data is cut short"
        #expect(outcome.failure == "\(unit) \(outcome.requests.count + 1): \(damage)", "cut at \(length)")
      }
    }
  }

  @Test func damagedPackedDataIsAnError() throws {
    let plain = TraceSamples.text(TraceSamples.skewed(300, objects: 1 << 20, seed: 5))
    for (packed, name) in [(try TraceSamples.gzip(plain), "gzip"), (try TraceSamples.zstd(plain), "zstd")] {
      var damaged = packed
      // The head of the first block: an invalid type in both formats.
      for index in 10..<14 { damaged[index] = 0xFF }
      let failure = try #require(try folder.read(damaged).failure)
      #expect(failure.contains("the \(name) data is damaged"), "\(failure)")
      let tail = try #require(try folder.read(packed + Data("tail of something".utf8)).failure)
      #expect(tail.contains("the \(name) data is damaged"), "\(tail)")
    }
  }

  /// No bytes make the reader trap, and each outcome is a list of valid requests.
  @Test func randomBytesAreRequestsOrAnError() throws {
    var generator = SplitMix64(seed: 11)
    let starts: [[UInt8]] = [
      [], [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3], [0x28, 0xB5, 0x2F, 0xFD], Array("12 3\n".utf8),
    ]
    for round in 0..<200 {
      let bytes = starts[round % starts.count] + (0..<(round * 3)).map { _ in UInt8(generator.next(below: 256)) }
      let outcome = try folder.read(Data(bytes))
      #expect(outcome.requests.allSatisfy { (1...(1 << 30)).contains($0.byteCount) })
    }
  }

  @Test func emptyTraceHasNoRequest() throws {
    for text in ["", "# nothing\n\n"] {
      let trace = try folder.trace(Data(text.utf8))
      #expect(throws: Failure.self) { try trace.readAll { _, _ in } }
    }
  }

  @Test func totalsCountEachObjectOnceAtItsFirstSize() throws {
    let trace = try folder.trace(Data("1 100\n2 50\n1 100\n2 70\n3 1\n".utf8))
    let totals = try TraceTotals(trace, progress: CacheCtlBase.Progress("test"))
    #expect(totals.requestCount == 5 && totals.objectCount == 3 && totals.distinctByteCount == 151)
  }

  @Test func folderOrPipeIsNoTrace() throws {
    #expect(throws: Failure.self) { try Trace(path: Array("/".utf8), format: nil).reader() }
    let pipe = folder.url.appending(path: "pipe").path
    try #require(mkfifo(pipe, 0o600) == 0)
    #expect(throws: Failure.self) { try Trace(path: Array(pipe.utf8), format: nil).reader() }
  }
}
