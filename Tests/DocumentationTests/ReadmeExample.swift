import Vitrine

/// The example of README.md, word for word. `DocumentationTests` compares the two.
func runReadmeExample(
  folder: String, jpeg: [UInt8], pixels: [UInt8], draw: (RawSpan) -> Void
) throws {
  // README begins
  let store = try CacheStore.open(at: folder + "/pictures")
  let cat = "https://example.org/cat.jpg"
  let square = Style("square-60@2x")!
  let layout = BitmapLayout(width: 120, height: 120, format: .bgra8888)!

  try store.put(jpeg, for: cat)
  try store.put(pixels, for: cat, style: square, options: PutOptions(layout: layout))

  store.get(cat, style: square) { bytes in
    draw(bytes)  // a RawSpan over the store's own file: nothing was copied
  }
  try store.close()
  // README ends
}
