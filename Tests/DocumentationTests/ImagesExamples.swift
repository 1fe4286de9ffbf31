import Vitrine
import VitrineImages

// The examples of Docs/Images.md and the second one of README.md, word for word, so that they compile as long as the
// library does. `DocumentationTests` compares them; these functions are never called.

private func readme(folder: String, draw: (RawSpan, BitmapLayout) -> Void) async throws {
  let pipeline = PicturePipeline(.init(storage: StoreStorage(try CacheStore.open(at: folder + "/pictures"))))
  let style = try ImageStyle.circle(60, scale: 2)

  let avatar = try await pipeline.image(for: PictureRequest("https://example.org/cat.jpg", style: style))
  avatar.bitmap.withPixels { pixels in draw(pixels, avatar.bitmap.layout) }  // mapped, and decoded only once
}

private func showing(folder: String, draw: (RawSpan, BitmapLayout) -> Void) async throws {
  let store = try CacheStore.open(at: folder, options: StoreOptions(byteBudget: 500_000_000))
  let pipeline = PicturePipeline(.init(storage: StoreStorage(store)))

  let style = try ImageStyle.circle(60, scale: 2)
  let avatar = try await pipeline.image(for: PictureRequest("https://example.com/a.jpg", style: style))
  avatar.bitmap.withPixels { pixels in draw(pixels, avatar.bitmap.layout) }
}

private func playing(
  url: String, style: ImageStyle, pipeline: PicturePipeline, show: (Bitmap) -> Void
) async throws {
  if let animation = try await pipeline.animation(for: PictureRequest(url, style: style)) {
    for try await frame in animation {
      show(frame.bitmap)
      try await Task.sleep(for: frame.duration)
    }
  }
}

private func reading(bytes: [UInt8]) throws {
  func show(_ image: DecodedImage, for duration: Duration) {}
  if let reader = try AnimationReader(bytes) {
    while let frame = try reader.next() { show(frame.image, for: frame.duration) }
  }
}

private struct Offer {}

private func preheating(
  offers: [Offer], offset: Double, height: Double, pipeline: PicturePipeline, request: (Offer) -> PictureRequest
) {
  var window = PreheatWindow()
  let rows = UniformGrid(itemCount: offers.count, rowLength: 60)
  if let change = window.update(visible: offset..<offset + height, in: rows) {
    pipeline.startPreheating(change.entered.map { request(offers[$0]) })
    pipeline.stopPreheating(change.left.map { request(offers[$0]) })
  }
}

private func drawingSVG() {
  let decoder = ImageDecoder(formats: [SVGDecoder(executable: "/usr/local/bin/vitrine-decoder")])
  _ = decoder
}

private func decodingElsewhere(store: CacheStore) {
  let decoder = ProcessDecoder(executable: "/usr/local/bin/vitrine-decoder")
  let pipeline = PicturePipeline(.init(storage: StoreStorage(store), decoder: decoder))
  _ = pipeline
}
