import FolderRemoval
import Foundation
import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

/// A whole pipeline with each storage and a real server.
@Suite struct StoragePipelineTests {
  static let picture = try! ImageEncoder.encode(.gradient(200, 120), as: .jpeg())
  static let other = try! ImageEncoder.encode(.gradient(90, 200), as: .png)

  private func pipeline(
    _ fixture: StorageFixture, _ change: (inout PicturePipeline.Configuration) -> Void = { _ in }
  ) -> PicturePipeline {
    var configuration = PicturePipeline.Configuration(storage: fixture.storage)
    configuration.attemptCount = 1
    // A slow machine must not look like a silent server.
    configuration.silenceMilliseconds = .max
    change(&configuration)
    return PicturePipeline(configuration)
  }

  private func pixels(_ bitmap: Bitmap) -> [UInt8] { StoredStyled.Content.pixels(bitmap).parts.bytes }

  @Test(arguments: StorageKind.allCases)
  func aPictureIsDownloadedOnceAndDrawnOnce(_ kind: StorageKind) async throws {
    let fixture = try StorageFixture(kind)
    let server = try TestServer { _ in .init(body: Self.picture) }
    let request = PictureRequest(server.url("/a"), style: try .circle(30, scale: 2))
    let first = try await pipeline(fixture).image(for: request)
    #expect(first.origin == .network && first.decodeCount == 1)
    try fixture.reopen()
    let second = try await pipeline(fixture).image(for: request)
    #expect(second.origin == .styled && second.decodeCount == 0 && second.requestCount == 0)
    #expect(pixels(second.bitmap) == pixels(first.bitmap) && second.bitmap.layout == first.bitmap.layout)
    let other = try await pipeline(fixture).image(for: PictureRequest(request.url, style: try .square(20)))
    #expect(other.origin == .original && other.decodeCount == 1)
    let original = try await pipeline(fixture).image(for: PictureRequest(request.url))
    #expect(original.origin == .original && original.bitmap.size == PixelSize(width: 200, height: 120))
    #expect(server.requests.count == 1)
  }

  @Test(arguments: [false, true])
  func aDeletedFolderServesNoClearedPicture(_ recreates: Bool) async throws {
    let path = FileManager.default.temporaryDirectory.path + "/vitrine-deleted-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let options = StoreOptions(byteBudget: 16 << 20, recreatesIfRemoved: recreates)
    let store = try CacheStore.open(at: path, options: options)
    var configuration = PicturePipeline.Configuration(storage: StoreStorage(store))
    configuration.memory = MemoryLimits(cost: 0)
    let pipeline = PicturePipeline(configuration)
    let server = try TestServer { _ in .init(body: Self.picture) }
    let requests = try ["/a", "/b", "/c"].map { PictureRequest(server.url($0), style: try .square(20)) }
    for request in requests { #expect(try await pipeline.image(for: request).origin == .network) }
    #expect(try await pipeline.load(requests[0].url, style: .square(20)) != nil)
    try FileManager.default.removeFolderInUse(atPath: path)
    try await pipeline.clear([requests[0].url, requests[1].url])
    for request in requests[..<2] { #expect(try await pipeline.load(request.url, style: .square(20)) == nil) }
    try await pipeline.retain(only: [])
    for request in requests { #expect(try await pipeline.load(request.url, style: .square(20)) == nil) }
    // Without `recreatesIfRemoved`, the store keeps nothing more, but pictures are still shown.
    for request in requests { #expect(try await pipeline.image(for: request).origin == .network) }
    for request in requests {
      #expect(try await pipeline.image(for: request).origin == (recreates ? .styled : .network))
    }
    try? store.close()
  }

  @Test(arguments: StorageKind.allCases)
  func stylesOfAChangedPictureAreDrawnAgain(_ kind: StorageKind) async throws {
    let fixture = try StorageFixture(kind)
    let version = Locked(1)
    let server = try TestServer { request in
      let tag = "\"v\(version.withLock { $0 })\""
      if request.headers["if-none-match"] == tag { return .status(304, ["ETag": tag]) }
      return .init(headers: ["ETag": tag], body: tag == "\"v1\"" ? Self.picture : Self.other)
    }
    let style = try ImageStyle.rectangle(40, 40, mode: .fit)
    var request = PictureRequest(server.url("/a"), style: style)
    let before = try await pipeline(fixture).image(for: request)
    let square = try await pipeline(fixture).image(for: PictureRequest(server.url("/a"), style: try .square(20)))
    #expect(square.requestCount == 0)
    request.cachePolicy = .revalidate
    let same = try await pipeline(fixture).image(for: request)
    #expect(same.origin == .styled && same.requestCount == 1)
    version.withLock { $0 = 2 }
    let after = try await pipeline(fixture).image(for: request)
    #expect(after.origin == .network && after.bitmap.size != before.bitmap.size)
    // The other style was made from the old picture, so it is not shown.
    let fresh = try await pipeline(fixture).image(for: PictureRequest(server.url("/a"), style: try .square(20)))
    #expect(fresh.origin == .original && pixels(fresh.bitmap) != pixels(square.bitmap))
    #expect(server.requests.count == 3)
  }

  @Test(arguments: StorageKind.allCases)
  func encodedPicturesAreDecodedAndFamiliesAreKeptTogether(_ kind: StorageKind) async throws {
    let fixture = try StorageFixture(kind)
    let server = try TestServer { _ in .init(body: Self.picture) }
    let family = [try ImageStyle.square(40), try .circle(30)]
    for form in [StyledForm.encoded, .automatic] {
      let url = server.url("/\(form)")
      func load(_ style: ImageStyle) async throws -> PictureResponse {
        try await pipeline(fixture) {
          $0.styledForm = form
          $0.families = [family]
        }.image(for: PictureRequest(url, style: style))
      }
      #expect(try await load(family[0]).origin == .network)
      for style in family {
        let shown = try await load(style)
        #expect(shown.origin == .styled && shown.decodeCount == 1, "\(form) \(style)")
      }
      if case .encoded? = try await fixture.storage.styled(family[1], for: url)?.content { continue }
      Issue.record("not kept encoded: \(form)")
    }
    #expect(server.requests.count == 2)
  }

  @Test(arguments: StorageKind.allCases)
  func keysAreClearedAndRetained(_ kind: StorageKind) async throws {
    let fixture = try StorageFixture(kind)
    let server = try TestServer { _ in .init(body: Self.picture) }
    let pipeline = pipeline(fixture)
    let style = try ImageStyle.square(20)
    for key in ["a", "b", "c"] {
      _ = try await pipeline.image(for: PictureRequest(server.url("/"), key: key, style: style))
    }
    try await pipeline.clear(["a"])
    try await pipeline.retain(only: ["c"])
    for (key, isThere) in [("a", false), ("b", false), ("c", true)] {
      #expect(try await (fixture.storage.styled(style, for: key) != nil) == isThere, "\(key)")
      #expect(try await (fixture.storage.original(for: key) != nil) == isThere, "\(key)")
    }
  }

  @Test(arguments: StorageKind.allCases)
  func damagedOriginalIsDownloadedAgain(_ kind: StorageKind) async throws {
    let fixture = try StorageFixture(kind)
    let server = try TestServer { _ in .init(body: Self.picture) }
    let request = PictureRequest(server.url("/a"), style: try .square(20))
    // An original that is not a picture, as an earlier program may have saved it.
    try await fixture.storage.saveOriginal(Array("<html>".utf8), metadata: [], for: request.key)
    #expect(try await pipeline(fixture).image(for: request).origin == .network)
    #expect(try await fixture.storage.original(for: request.key)?.bytes.array == Self.picture)
    // Without the network, the load fails, and the original is removed.
    try await fixture.storage.saveOriginal(Array("<html>".utf8), metadata: [], for: request.key)
    await #expect(throws: ImageError.self) { try await pipeline(fixture).load(request.key, style: request.style) }
    #expect(try await fixture.storage.original(for: request.key) == nil)
    #expect(server.requests.count == 1)
  }

  @Test func truncatedFileIsAMiss() async throws {
    let fixture = try StorageFixture(.files)
    let style = try ImageStyle.square(20)
    let bitmap = Bitmap.gradient(20, 20)
    let digest = [UInt8(1)].withUnsafeBytes { Digest(of: $0) }
    _ = try await fixture.storage.saveStyled([StyledPicture(style, .pixels(bitmap))], madeFrom: digest, for: "a")
    let files = try FileManager.default.subpathsOfDirectory(atPath: fixture.folder.path)
      .map { fixture.folder.appendingPathComponent($0) }.filter { !$0.hasDirectoryPath }
    let file = try #require(files.max { $0.path.count < $1.path.count })
    let whole = try Data(contentsOf: file)
    for count in stride(from: whole.count - 1, through: 0, by: -97) {
      try whole.prefix(count).write(to: file)
      #expect(try await fixture.storage.styled(style, for: "a") == nil)
    }
    try whole.write(to: file)
    #expect(try await fixture.storage.styled(style, for: "a") != nil)
  }
}
