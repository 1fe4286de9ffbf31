import Testing
import Vitrine

@testable import VitrineImages

/// If a step falls behind, the steps before it wait.
@Suite struct BackPressureTests {
  /// Saves no styled picture until `open` is called.
  private final class SlowStorage: ImageStorage {
    private let state = Locked((isOpen: false, running: 0, most: 0))

    func open() { state.withLock { $0.isOpen = true } }
    var most: Int { state.withLock { $0.most } }

    func original(for key: String) async throws -> StoredOriginal? { nil }
    func saveOriginal(_ bytes: [UInt8], metadata: [UInt8], for key: String) async throws {}
    func setMetadata(_ metadata: [UInt8], ofOriginalFor key: String) async throws {}
    func styled(_ style: ImageStyle, for key: String) async throws -> StoredStyled? { nil }
    func remove(_ keys: [String]) async throws {}
    func retain(only keys: [String], prefix: String?) async throws {}

    func saveStyled(
      _ pictures: [StyledPicture], madeFrom original: Digest, for key: String
    ) async throws -> [StoredStyled] {
      state.withLock {
        $0.running += 1
        $0.most = max($0.most, $0.running)
      }
      defer { state.withLock { $0.running -= 1 } }
      while !state.withLock({ $0.isOpen }) { try await Task.sleep(nanoseconds: 300_000) }
      return pictures.map { StoredStyled($0.content, metadata: $0.metadata) }
    }
  }

  @Test func slowWritesDelayDecodesAndDownloads() async throws {
    let urls = (0..<40).map { "\($0)" }
    let loader = GatedLoader(Dictionary(uniqueKeysWithValues: urls.map { ($0, PipelineBench.jpeg) }))
    let storage = SlowStorage()
    var configuration = PicturePipeline.Configuration(storage: storage, loader: loader)
    configuration.loadLimit = 3
    configuration.decodeLimit = 4
    configuration.writeLimit = 2
    configuration.memoryPressure = nil
    let pipeline = PicturePipeline(configuration)
    let style = try ImageStyle.square(20)
    let tasks = urls.map { url in Task { try await pipeline.image(for: PictureRequest(url, style: style)) } }
    try await until { loader.loads.count == 6 && storage.most == 2 }
    try await until { pipeline.pictures.work.runningCount == 4 }
    try await Task.sleep(nanoseconds: 100_000_000)
    #expect(loader.loads.count == 6 && loader.mostRunning <= 3 && storage.most == 2)
    #expect(pipeline.pictures.work.runningCount == 4)
    storage.open()
    for task in tasks { #expect(try await task.value.decodeCount == 1) }
    #expect(loader.loads.count == 40 && loader.mostRunning <= 3 && storage.most == 2)
    #expect(pipeline.pictures.work.runningCount == 0 && pipeline.pictures.work.waitingCount == 0)
  }
}
