import Foundation
import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

/// A store in a folder of its own, and pipelines that use it.
struct PipelineBench {
  static let jpeg = try! ImageEncoder.encode(.gradient(200, 120), as: .jpeg(quality: 0.9))
  static let other = try! ImageEncoder.encode(.gradient(90, 200), as: .png)

  let folder: URL
  let store: CacheStore
  let loader: GatedLoader

  init(_ loader: GatedLoader = GatedLoader([:]), byteBudget: Int = 16 << 20) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("vitrine-images-\(UUID().uuidString)")
    store = try CacheStore.open(at: folder.path, options: StoreOptions(byteBudget: byteBudget))
    self.loader = loader
  }

  func pipeline(
    _ storage: (any ImageStorage)? = nil, _ change: (inout PicturePipeline.Configuration) -> Void = { _ in }
  ) -> PicturePipeline {
    var configuration = PicturePipeline.Configuration(storage: storage ?? StoreStorage(store), loader: loader)
    configuration.attemptCount = 1
    // A slow machine must not look like a silent server.
    configuration.silenceMilliseconds = .max
    configuration.memoryPressure = nil
    change(&configuration)
    return PicturePipeline(configuration)
  }

  func end() throws {
    try store.close()
    try FileManager.default.removeItem(at: folder)
  }
}

extension Bitmap {
  var bytes: [UInt8] { withPixels { $0.withUnsafeBytes { Array($0.prefix(layout.byteCount)) } } }
}

/// Waits until the condition holds, and records an issue after an hour. A shorter limit would also end tests whose
/// tasks a busy machine has not begun.
func until(_ condition: () throws -> Bool) async throws {
  let end = ContinuousClock.now + .seconds(3600)
  while ContinuousClock.now < end {
    if try condition() { return }
    try await Task.sleep(nanoseconds: 500_000)
  }
  Issue.record("the condition did not hold within an hour")
}

/// Blocks the thread until the condition holds, for at most an hour. The caller's later checks show whether it did.
func holdUp(until condition: () -> Bool) {
  let end = ContinuousClock.now + .seconds(3600)
  while ContinuousClock.now < end, !condition() { usleep(500) }
}
