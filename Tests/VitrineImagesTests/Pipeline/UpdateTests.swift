import Foundation
import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

/// The progress of a download, in the sequence of a request.
@Suite struct UpdateTests {
  private let square = try! ImageStyle.square(40)

  private func progress(_ received: Int, _ expected: Int?) -> DownloadProgress {
    DownloadProgress(receivedByteCount: received, expectedByteCount: expected)
  }

  /// Passes a body in pieces of 100 bytes, and waits in the middle until it is opened.
  private final class SlowLoader: ByteLoading {
    let body: [UInt8]
    let states: Bool
    /// The number of bytes that are passed before the loader is opened.
    let closedCount: Int
    private let gate = Locked(false)
    let loadCount = Locked(0)

    init(_ body: [UInt8], statesLength: Bool = true, closedCount: Int? = nil) {
      self.body = body
      states = statesLength
      self.closedCount = closedCount ?? body.count / 2
    }

    func open() { gate.withLock { $0 = true } }

    func load(_ request: LoadRequest, _ receiver: any LoadReceiving) async throws {
      loadCount.withLock { $0 += 1 }
      try receiver.begin(LoadResponse(expectedByteCount: states ? body.count : nil))
      for start in stride(from: 0, to: body.count, by: 100) {
        while start >= closedCount, !gate.withLock({ $0 }) {
          try Task.checkCancellation()
          try? await Task.sleep(nanoseconds: 300_000)
        }
        try receiver.receive(Data(body[start..<min(body.count, start + 100)]))
      }
    }
  }

  private func read(
    _ pipeline: PicturePipeline, _ request: PictureRequest, _ seen: (PictureUpdate) -> Void = { _ in }
  ) async throws -> (progress: [DownloadProgress], pictures: [PictureResponse]) {
    var (progress, pictures): ([DownloadProgress], [PictureResponse]) = ([], [])
    for try await update in pipeline.updates(for: request) {
      seen(update)
      switch update {
      case .progress(let value):
        #expect(pictures.allSatisfy { $0.origin == .placeholder || $0.origin == .partial })
        progress.append(value)
      case .picture(let response): pictures.append(response)
      }
    }
    return (progress, pictures)
  }

  @Test func bytesAreToldFromTheFirstToTheLast() async throws {
    let body = PipelineBench.jpeg
    let loader = SlowLoader(body)
    loader.open()
    let pipeline = PicturePipeline(.init(loader: loader))
    let (progress, pictures) = try await read(pipeline, PictureRequest("a", style: square))
    #expect(progress.first == self.progress(0, body.count) && progress.last == self.progress(body.count, body.count))
    #expect(progress.last?.fraction == 1)
    let counts = progress.map(\.receivedByteCount)
    #expect(counts == counts.sorted() && Set(counts).count == counts.count && counts.count <= 67)
    #expect(pictures.map(\.origin) == [.network])
    // From memory, there is nothing to download.
    let again = try await read(pipeline, PictureRequest("a", style: square))
    #expect(again.progress.isEmpty && again.pictures.map(\.origin) == [.memory])
  }

  /// The loader waits in the middle until a coarse form is shown.
  @Test func progressivePictureIsShownWhileItArrives() async throws {
    let loader = SlowLoader(JPEGFile.grainy, closedCount: 400)
    let pipeline = PicturePipeline(.init(loader: loader))
    let (_, pictures) = try await read(pipeline, PictureRequest("a", style: square)) { update in
      if case .picture(let response) = update, response.origin == .partial { loader.open() }
    }
    #expect(pictures.first?.origin == .partial && pictures.last?.origin == .network)
    #expect(pictures.count <= 4 && pictures.dropLast().allSatisfy { $0.origin == .partial })
    #expect(pictures.allSatisfy { $0.bitmap.size == PixelSize(width: 40, height: 40) })
    #expect(pictures[0].bitmap.bytes != pictures.last?.bitmap.bytes)
    // Memory has the complete picture.
    let again = try await pipeline.image(for: PictureRequest("a", style: square))
    #expect(again.origin == .memory && again.bitmap.bytes == pictures.last?.bitmap.bytes)
  }

  @Test func partsAreShownOnlyOnDemand() async throws {
    let loader = SlowLoader(JPEGFile.grainy, closedCount: 400)
    var configuration = PicturePipeline.Configuration(loader: loader)
    configuration.partialPictureCount = 0
    let pipeline = PicturePipeline(configuration)
    let (_, pictures) = try await read(pipeline, PictureRequest("a", style: square)) { update in
      if case .progress(let progress) = update, progress.receivedByteCount >= 400 { loader.open() }
    }
    #expect(pictures.map(\.origin) == [.network])
    var origins: [PictureResponse.Origin] = []
    let other = PicturePipeline(.init(loader: loader))
    for try await response in other.images(for: PictureRequest("a", style: square)) { origins.append(response.origin) }
    #expect(origins == [.network])
  }

  @Test func aLengthThatIsNotStatedIsNil() async throws {
    let loader = SlowLoader(PipelineBench.jpeg, statesLength: false)
    loader.open()
    let (progress, _) = try await read(PicturePipeline(.init(loader: loader)), PictureRequest("a", style: square))
    #expect(!progress.isEmpty && progress.allSatisfy { $0.expectedByteCount == nil && $0.fraction == nil })
  }

  /// The second request joins in the middle, and learns of the bytes so far.
  @Test func allRequestsOfADownloadLearnOfIt() async throws {
    let loader = SlowLoader(PipelineBench.jpeg)
    let pipeline = PicturePipeline(.init(loader: loader))
    async let first = read(pipeline, PictureRequest("a", style: square))
    try await until { loader.loadCount.withLock { $0 } == 1 }
    let second = try await read(pipeline, try PictureRequest("a", style: .square(20))) { _ in loader.open() }
    let one = try await first
    #expect(!second.progress.isEmpty && second.progress.last == one.progress.last)
    #expect(second.pictures.count == 1 && one.pictures.count == 1)
    #expect(loader.loadCount.withLock { $0 } == 1)
  }

  @Test func theBodyOfAnErrorIsNoProgress() async throws {
    let loader = ScriptedLoader { _ in .init(status: 404, body: Array("not found".utf8)) }
    let pipeline = PicturePipeline(.init(loader: loader))
    var updates = 0
    await #expect(throws: LoadError.status(404)) {
      for try await _ in pipeline.updates(for: PictureRequest("a", style: square)) { updates += 1 }
    }
    #expect(updates == 0)
  }

  @Test func aDroppedSequenceCancelsTheDownload() async throws {
    let loader = GatedLoader(["a": PipelineBench.jpeg], isOpen: false)
    let pipeline = PicturePipeline(.init(loader: loader))
    let listener = Task { for try await _ in pipeline.updates(for: PictureRequest("a", style: square)) {} }
    try await until { loader.loads.count == 1 }
    listener.cancel()
    _ = try? await listener.value
    try await until { loader.cancelledCount == 1 }
  }

  @Test func smallStepsAreNoNews() {
    let half = progress(6400, 12_800)
    #expect(progress(0, nil).isNews(after: nil) && half.isNews(after: nil))
    #expect(!progress(6599, 12_800).isNews(after: half) && progress(6600, 12_800).isNews(after: half))
    #expect(progress(12_800, 12_800).isNews(after: progress(12_799, 12_800)))
    #expect(!progress(12_800, 12_800).isNews(after: progress(12_800, 12_800)))
    // Another attempt has started over, or the server states another length.
    #expect(progress(0, 12_800).isNews(after: half) && progress(6400, 12_801).isNews(after: half))
    let none = progress(0, nil)
    #expect(!progress(65_535, nil).isNews(after: none) && progress(65_536, nil).isNews(after: none))
    #expect(progress(5, 0).fraction == 1 && progress(30, 20).fraction == 1 && progress(5, 20).fraction == 0.25)
  }
}
