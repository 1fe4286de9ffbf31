import CacheCtlKit
import Foundation
import Vitrine
import VitrineImages

/// Pictures in a store and as JPEG files of the right size, and the cost of showing either.
struct ShowSamples {
  let count: Int
  private let folder: URL
  private static let roundCount = 40

  /// Writes the store and the files to `folder`, and closes the store, so that no writes are pending.
  init(_ photos: Photos, _ styles: [ImageStyle], count: Int, in folder: URL) async throws {
    self.folder = folder
    let store = try CacheStore.open(
      at: ShowSamples.storePath(folder), options: StoreOptions(byteBudget: ShowingPass.budget))
    var configuration = PicturePipeline.Configuration(
      storage: StoreStorage(store), loader: FolderLoader(photos: photos))
    configuration.families = [styles]
    let pipeline = PicturePipeline(configuration)
    var made = 0
    for name in photos.names where made < count {
      do {
        for style in styles {
          // The key does not contain the folder's path, so it is the same in all folders.
          let request = PictureRequest(name, key: ShowSamples.key(made), style: style)
          let bitmap = try await pipeline.image(for: request).bitmap
          let jpeg = try ImageEncoder.encode(bitmap, as: .jpeg())
          try Data(jpeg).write(to: ShowSamples.file(made, style, folder))
        }
        made += 1
      } catch let error as ImageError {
        Progress.say("\(name) is left out: \(error)")
      }
    }
    if made == 0 { throw BenchError("no photo in \(photos.folder.path) can be shown") }
    self.count = made
    try store.close()
  }

  static func storePath(_ folder: URL) -> String { folder.appending(path: "store").path }
  static func key(_ number: Int) -> String { "photo-\(number)" }
  static func file(_ number: Int, _ style: ImageStyle, _ folder: URL) -> URL {
    folder.appending(path: "\(style.name)-\(number).jpg")
  }

  func costs(_ style: ImageStyle) async throws -> ShowScene.Costs {
    let store = try CacheStore.open(at: ShowSamples.storePath(folder))
    defer { try? store.close() }
    let keys = (0..<count).map { CacheKey(ShowSamples.key($0), style.key) }
    let jpegs = try (0..<count).map { Array(try Data(contentsOf: ShowSamples.file($0, style, folder))) }
    let decoder = ImageDecoder()
    let screen = Screen()
    var sum: UInt64 = 0

    func bitmap(_ number: Int) throws -> Bitmap {
      guard let blob = store.blob(keys[number]), let bitmap = Bitmap(blob), bitmap.isMapped else {
        throw BenchError("\(keys[number]) is not mapped")
      }
      return bitmap
    }
    var costs = ShowScene.Costs(
      style: style.name, byteCount: style.pixelSize.map { 4 * $0.width * $0.height } ?? 0,
      jpegByteCount: jpegs.reduce(0) { $0 + $1.count } / count)
    costs.firstGetAndCopy = try seconds(rounds: 1) { screen.show(try bitmap($0)) }
    costs.get = try seconds { sum &+= UInt64(try bitmap($0).layout.width) }
    costs.pipeline = try await pipelineSeconds(store, style)
    costs.getAndRead = try seconds { sum &+= try bitmap($0).withPixels { $0.readAll() } }
    costs.getAndCopy = try seconds { screen.show(try bitmap($0)) }
    costs.decode = try seconds(rounds: 7) { sum &+= UInt64(try decoder.decode(jpegs[$0]).size.width) }
    costs.decodeAndRead = try seconds(rounds: 7) { number in
      sum &+= try decoder.decode(jpegs[number]).withPixels { $0.readAll() }
    }
    costs.decodeAndCopy = try seconds(rounds: 7) { screen.show(try decoder.decode(jpegs[$0])) }
    if sum == 0 { throw BenchError("no pixels were read") }
    return costs
  }

  private func pipelineSeconds(_ store: CacheStore, _ style: ImageStyle) async throws -> Double {
    var configuration = PicturePipeline.Configuration(storage: StoreStorage(store))
    configuration.memory = MemoryLimits(cost: 0)
    let pipeline = PicturePipeline(configuration)
    let requests = (0..<count).map {
      PictureRequest(ShowSamples.key($0), style: style, cachePolicy: .cacheOnly)
    }
    var seconds: [Double] = []
    for _ in 0..<ShowSamples.roundCount {
      let start = CPUTime.process
      for request in requests where try await pipeline.image(for: request).bitmap.layout.width == 0 {
        throw BenchError("\(request.key) is empty")
      }
      seconds.append((CPUTime.process - start) / Double(count))
    }
    return median(seconds)
  }

  /// Returns this thread's CPU time for one picture: the median over rounds of all pictures.
  private func seconds(rounds: Int = ShowSamples.roundCount, _ show: (Int) throws -> Void) throws -> Double {
    var seconds: [Double] = []
    for _ in 0..<rounds {
      let start = CPUTime.thread
      for number in 0..<count { try show(number) }
      seconds.append((CPUTime.thread - start) / Double(count))
    }
    return median(seconds)
  }
}
