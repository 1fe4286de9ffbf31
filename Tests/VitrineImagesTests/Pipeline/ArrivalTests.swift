import Foundation
import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

/// The time between the end of a download and the end of saving its original.
@Suite struct ArrivalTests {
  /// Saves no original until `open` is called.
  private final class SlowStorage: ImageStorage {
    private let waiting = Locked<[CheckedContinuation<Void, Never>]?>([])

    var waitingCount: Int { waiting.withLock { $0?.count ?? 0 } }

    func open() {
      let all = waiting.withLock { waiting in
        defer { waiting = nil }
        return waiting ?? []
      }
      for one in all { one.resume() }
    }

    func original(for key: String) async throws -> StoredOriginal? { nil }

    func saveOriginal(_ bytes: [UInt8], metadata: [UInt8], for key: String) async throws {
      await withCheckedContinuation { continuation in
        let isOpen = waiting.withLock { waiting in
          waiting?.append(continuation)
          return waiting == nil
        }
        if isOpen { continuation.resume() }
      }
    }

    func setMetadata(_ metadata: [UInt8], ofOriginalFor key: String) async throws {}
    func styled(_ style: ImageStyle, for key: String) async throws -> StoredStyled? { nil }

    func saveStyled(
      _ pictures: [StyledPicture], madeFrom original: Digest, for key: String
    ) async throws -> [StoredStyled] { pictures.map { StoredStyled($0.content, metadata: $0.metadata) } }

    func remove(_ keys: [String]) async throws {}
    func retain(only keys: [String], prefix: String?) async throws {}
  }

  private static let body = try! ImageEncoder.encode(.gradient(200, 120), as: .jpeg(quality: 0.9))

  /// Returns the responses to requests for two styles of one picture. The second request comes while the first one
  /// saves the original.
  private func loadDuringSave(_ headers: [String: String]) async throws -> (responses: [PictureResponse], loads: Int) {
    let server = try TestServer { _ in .init(headers: headers, body: Self.body) }
    let storage = SlowStorage()
    var configuration = PicturePipeline.Configuration(storage: storage)
    configuration.keeps = .both
    let pipeline = PicturePipeline(configuration)
    let url = server.url("/a.jpg")
    let square = PictureRequest(url, style: try .square(40))
    let circle = PictureRequest(url, style: try .circle(30))
    async let first = pipeline.image(for: square)
    try await until { storage.waitingCount == 1 }
    async let second = pipeline.image(for: circle)
    // The second request has its picture, and waits until the first one has saved the original.
    try await until { pipeline.pictures.writes.waitingCount == 1 }
    storage.open()
    return (try await [first, second], server.requests.count)
  }

  @Test func requestDuringTheSaveOfAnOriginalDownloadsNothing() async throws {
    let (responses, loads) = try await loadDuringSave([:])
    #expect(responses.map(\.requestCount) == [1, 0] && responses.map(\.receivedByteCount) == [Self.body.count, 0])
    #expect(responses.map(\.origin) == [.network, .network] && loads == 1)
  }

  @Test func noCacheOriginalIsRequestedAgainDuringItsSave() async throws {
    let (responses, loads) = try await loadDuringSave(["Cache-Control": "no-cache"])
    #expect(responses.map(\.requestCount) == [1, 1] && loads == 2)
  }

  /// Before a download, the pipeline looks in the storage and then among the downloads in progress. The original is
  /// saved between the two.
  @Test func originalSavedAfterTheLookupIsNotDownloadedAgain() async throws {
    let loader = GatedLoader([:])
    let storage = ScriptedStorage(original: StoredOriginal(bytes: .array(Self.body), metadata: []), missCount: 1)
    let pipeline = PicturePipeline(PicturePipeline.Configuration(storage: storage, loader: loader))
    let response = try await pipeline.image(for: PictureRequest("http://a/a.jpg", style: try .square(40)))
    #expect(response.origin == .original && response.requestCount == 0 && loader.loads.isEmpty)
  }

  @Test func arrivedOriginalIsFoundWhileItIsReferenced() async throws {
    let arrivals = Arrivals<String>()
    let bodies = LimitedQueue(limit: 2, preheatingLimit: 1)
    let record = ResponseRecord(headers: [:], requestHeaders: [:], now: 0)
    var held: Arrival? = Arrival(.array([1, 2, 3]), record, try await bodies.place(Interest(.normal)))
    try arrivals.note(#require(held), of: "a")
    #expect(arrivals["a"] === held && held != nil && arrivals["b"] == nil && bodies.runningCount == 1)
    // A later arrival stays in place of an earlier one.
    let later = Arrival(.array([4]), record, nil, ordinal: 2)
    arrivals.note(later, of: "b")
    arrivals.note(Arrival(.array([5]), record, nil, ordinal: 1), of: "b")
    #expect(arrivals["b"] === later)
    held = nil
    // The place of its body is freed as well.
    #expect(arrivals["a"] == nil && bodies.runningCount == 0)
  }
}
