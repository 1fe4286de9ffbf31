import Testing
import Vitrine

@testable import VitrineImages

/// The form in which styled pictures are kept.
@Suite struct StyledFormTests {
  let square = try! ImageStyle.square(64)

  private func encoding(_ bench: PipelineBench, _ style: ImageStyle) -> Encoding? {
    bench.store.blob("a", style: style.key)?.encoding
  }

  /// Each round uses a new pipeline, as a program just started would.
  @Test func automaticFormTurnsToPixelsAtTheSecondShowingFromTheStore() async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg]))
    let request = PictureRequest("a", style: square)
    var seen: [String] = []
    var bytes: [[UInt8]] = []
    for _ in 0..<4 {
      let response = try await bench.pipeline { $0.styledForm = .automatic }.image(for: request)
      seen.append("\(response.origin) \(response.decodeCount) \(encoding(bench, square) == .bitmap)")
      bytes.append(response.bitmap.bytes)
    }
    #expect(seen == ["network 1 false", "styled 1 false", "styled 1 true", "styled 0 true"])
    // From the second showing on, the pixels equal the decoded form.
    #expect(bytes[1] == bytes[2] && bytes[2] == bytes[3])
    try bench.end()
  }

  @Test func automaticFormCountsShowingsAndKeepsTheVaryHeaders() async throws {
    let loader = GatedLoader(["a": PipelineBench.jpeg])
    loader.set(headers: ["Vary": "Accept"])
    let bench = try PipelineBench(loader)
    let request = PictureRequest("a", style: square, headers: ["Accept": "image/x"])
    var seen: [String] = []
    for request in [request, request, request, request, PictureRequest("a", style: square)] {
      seen.append("\(try await bench.pipeline { $0.styledForm = .automatic }.image(for: request).origin)")
      seen[seen.count - 1] += " \(encoding(bench, square) == .bitmap)"
    }
    #expect(seen == ["network false", "styled false", "styled true", "styled true", "network false"])
    #expect(loader.loads.count == 2)
    try bench.end()
  }

  @Test func encodedFormStaysEncodedAfterManyShowings() async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg]))
    for _ in 0..<4 {
      let response = try await bench.pipeline { $0.styledForm = .encoded }.image(
        for: PictureRequest("a", style: square))
      #expect(encoding(bench, square) != .bitmap && response.decodeCount == 1)
    }
    let stored = try #require(bench.store.blob("a", style: square.key)?.byteCount)
    #expect(stored * 5 < 64 * 64 * 4)
    try bench.end()
  }

  @Test func cornersAndFormatsSurviveEncoding() async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg]))
    for style in [try ImageStyle.circle(32), try .square(32, format: .gray8), try .square(32, format: .rgb565)] {
      let request = PictureRequest("a", style: style)
      let made = try await bench.pipeline { $0.styledForm = .encoded }.image(for: request)
      let shown = try await bench.pipeline { $0.styledForm = .encoded }.image(for: request)
      #expect(shown.origin == .styled && shown.bitmap.layout.format == style.format)
      #expect(shown.bitmap.size == made.bitmap.size)
      if style == (try ImageStyle.circle(32)) { #expect(shown.bitmap.pixel(0, 0)[3] == 0) }
    }
    try bench.end()
  }

  @Test func undecodableStyledPictureIsMadeAgain() async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg]))
    let request = PictureRequest("a", style: square)
    _ = try await bench.pipeline { $0.styledForm = .encoded }.image(for: request)
    try bench.store.put(Array("damaged".utf8), for: "a", style: square.key)
    let again = try await bench.pipeline { $0.styledForm = .encoded }.image(for: request)
    #expect(again.origin == .original && again.bitmap.size == square.pixelSize)
    #expect(bench.loader.loads.count == 1)
    try bench.end()
  }

  @Test func styledRecordIsReadBackAndInvalidMetadataAreIgnored() {
    let digest = Digest(high: 0x0102_0304_0506_0708, low: 9)
    func response(_ headers: [String: String]) -> ResponseRecord {
      ResponseRecord(headers: headers, requestHeaders: ["Accept": "image/x"], now: 0)
    }
    // The headers say nothing that a later request needs.
    let never = [UInt8](repeating: 255, count: 7) + [127]
    for plain in [nil, response([:]), response(["Content-Type": "image/png"])] {
      let record = StyledRecord(original: digest, response: plain, showingCount: 3)
      let fixed: [UInt8] = [4, 9, 0, 0, 0, 0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1]
      #expect(record.metadata == fixed + never + (plain == nil ? never : [UInt8](repeating: 0, count: 8)) + [3])
      #expect(StyledRecord(metadata: record.metadata) == record && record.vary.isEmpty && record.freshUntil == nil)
    }
    for headers in [
      ["ETag": "\"a\""], ["Last-Modified": "x"], ["Cache-Control": "max-age=7, stale-while-revalidate=9"],
      ["Vary": "Accept"],
    ] {
      var record = StyledRecord(original: digest, response: response(headers), showingCount: 2)
      let read = StyledRecord(metadata: record.metadata)
      #expect(read == record && read.response == response(headers) && read.freshUntil == response(headers).freshUntil)
      #expect(read.vary == response(headers).vary && read.metadata == record.metadata && read.showingCount == 2)
      record.set(nil)
      #expect(record.metadata.count == 34 && record.vary.isEmpty && record.freshUntil == nil)
    }
    var fixed = StyledRecord(original: digest, response: response(["Cache-Control": "max-age=5"])).metadata
    #expect(Array(fixed[17..<35]) == [136, 19] + [UInt8](repeating: 0, count: 16))
    // Chosen by headers, but their record is unreadable.
    fixed[34] = 1
    fixed[35] = 0
    #expect(StyledRecord(metadata: fixed).vary == ["*": ""])
    for metadata in [[], [4], [UInt8](repeating: 3, count: 34), [UInt8](repeating: 4, count: 33)] {
      #expect(StyledRecord(metadata: metadata) == StyledRecord(original: nil, response: nil))
    }
  }

  @Test func oversizedHeadersAreLeftOutOfTheRecord() {
    let headers = ["ETag": "\"\(String(repeating: "a", count: 70_000))\"", "Cache-Control": "max-age=5"]
    let response = ResponseRecord(headers: headers, requestHeaders: [:], now: 0)
    let record = StyledRecord(original: Digest(high: 1, low: 2), response: response)
    #expect(record.metadata.count == 34 && record.freshUntil == 5000 && record.response == nil)
  }
}
