import Foundation
import Vitrine
import VitrineImages

/// The pictures of the open section, and the ways to get them on the screen. All pictures of one opening are
/// requested at once, and copied to the screen as they come.
struct OfferSection {
  let style: ImageStyle
  private let urls: [String]
  private let screen = Screen()
  /// Shared by all openings, as in an app.
  private let loader = HTTPLoader()

  /// Skips photos that cannot be decoded, and repeats the others if they are too few.
  init(photos: Photos, server: ServerProcess, style: ImageStyle, count: Int) async throws {
    self.style = style
    let decoder = ImageDecoder()
    let good = try photos.names.filter { name in
      let bytes = try photos.bytes(of: name)
      return (try? decoder.decode(bytes)) != nil
    }
    if good.isEmpty { throw BenchError("no photo in \(photos.folder.path) can be decoded") }
    // Each URL is different, so that nothing is shared.
    urls = (0..<count).map { server.url(good[$0 % good.count]) + ($0 < good.count ? "" : "?\($0)") }
  }

  func pipeline(_ store: CacheStore?) -> PicturePipeline {
    var configuration = PicturePipeline.Configuration(
      storage: store.map { StoreStorage($0) }, loader: loader)
    if store == nil { configuration.memory = MemoryLimits(cost: 0) }
    return PicturePipeline(configuration)
  }

  /// Shows first the pictures at hand, as a list does, and then the pictures that need waiting.
  func open(_ pipeline: PicturePipeline) async throws {
    var missing: [String] = []
    for url in urls {
      if let response = pipeline.imageAtHand(for: PictureRequest(url, style: style)) {
        screen.show(response.bitmap)
      } else {
        missing.append(url)
      }
    }
    if missing.isEmpty { return }
    try await show(missing) { url, style in try await pipeline.image(for: PictureRequest(url, style: style)).bitmap }
  }

  func openWithoutCache() async throws { try await open(pipeline(nil)) }

  /// Opens as `openWithoutCache`, and writes a JPEG file of each shown picture.
  func openAndWriteFiles(_ folder: URL) async throws {
    let pipeline = pipeline(nil)
    let urls = urls
    try await show(urls) { url, style in
      let bitmap = try await pipeline.image(for: PictureRequest(url, style: style)).bitmap
      let bytes = try ImageEncoder.encode(bitmap, as: .jpeg())
      try Data(bytes).write(to: OfferSection.file(url, urls, folder), options: .atomic)
      return bitmap
    }
  }

  func openFromFiles(_ folder: URL) async throws {
    let urls = urls
    try await withThrowingTaskGroup(of: DecodedImage.self) { group in
      for url in urls {
        group.addTask {
          // The file is mapped, because a copy would be work that files do not need.
          let file = try Data(contentsOf: OfferSection.file(url, urls, folder), options: .alwaysMapped)
          return try ImageDecoder().decode(file.bytes)
        }
      }
      for try await image in group { screen.show(image) }
    }
  }

  func bitmaps() async throws -> [Bitmap] {
    let pipeline = pipeline(nil)
    var bitmaps: [Bitmap] = []
    for url in urls { bitmaps.append(try await pipeline.image(for: PictureRequest(url, style: style)).bitmap) }
    return bitmaps
  }

  func draw(_ bitmaps: [Bitmap]) { for bitmap in bitmaps { screen.show(bitmap) } }

  private func show(
    _ urls: [String], _ load: @escaping @Sendable (String, ImageStyle) async throws -> Bitmap
  ) async throws {
    try await withThrowingTaskGroup(of: Bitmap.self) { group in
      for url in urls { group.addTask { [style] in try await load(url, style) } }
      for try await bitmap in group { screen.show(bitmap) }
    }
  }

  private static func file(_ url: String, _ urls: [String], _ folder: URL) -> URL {
    folder.appending(path: "offer-\(urls.firstIndex(of: url) ?? 0).jpg")
  }
}
