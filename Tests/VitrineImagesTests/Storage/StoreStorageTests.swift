import Foundation
import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

@Suite struct StoreStorageTests {
  let square = try! ImageStyle.square(40)
  let wide = try! ImageStyle.rectangle(50, 20)
  let first = PipelineBench.jpeg.withUnsafeBytes { Digest(of: $0) }
  let second = PipelineBench.other.withUnsafeBytes { Digest(of: $0) }

  private func layout(_ width: Int, _ height: Int) throws -> BitmapLayout {
    try #require(BitmapLayout.drawable(width: width, height: height, format: .bgra8888))
  }

  @Test func aSingleStyleIsDrawnInTheStoresMemory() async throws {
    let bench = try PipelineBench()
    let storage = StoreStorage(bench.store)
    let layout = try layout(33, 7)
    let address = Locked<UInt>(0)
    let stored = try #require(
      try await storage.drawStyled(square, layout: layout, metadata: [7], madeFrom: first, for: "a") { memory in
        #expect(memory.byteCount == layout.byteCount)
        memory.withUnsafeMutableBytes { bytes in
          #expect(bytes.allSatisfy { $0 == 0 })
          for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: index) }
          address.withLock { $0 = UInt(bitPattern: bytes.baseAddress) }
        }
      })
    guard case .pixels(let bitmap) = stored.content else { throw ImageError.outOfMemory(byteCount: 1) }
    #expect(bitmap.isMapped && bitmap.layout == layout && layout.bytesPerRow % 64 == 0 && stored.metadata == [7])
    #expect(bitmap.bytes == (0..<layout.byteCount).map { UInt8(truncatingIfNeeded: $0) })
    #expect(address.withLock { $0 % 64 } == 0)
    try bench.end()
  }

  @Test func originalThatNoDecoderReadsIsKeptAndReturned() async throws {
    let bench = try PipelineBench()
    let storage = StoreStorage(bench.store)
    let file = Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8)
    #expect(throws: ImageError.unsupportedFormat(found: "SVG")) { try ImageDecoder().info(of: file) }
    try await storage.saveOriginal(file, metadata: [1, 2], for: "a")
    let original = try #require(try await storage.original(for: "a"))
    #expect(original.bytes.withBytes { bytes in bytes.withUnsafeBytes { Array($0) } } == file)
    #expect(original.metadata == [1, 2])
    try bench.end()
  }

  /// The batch takes the array in which a family's pixels were drawn, without a copy.
  @Test func pixelsOfAFamilyAreHandedOverWithoutACopy() throws {
    let image = try ImageDecoder().decode(PipelineBench.jpeg)
    for bitmap in try image.rendered([square, wide]) {
      let drawn = bitmap.withPixels { $0.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } }
      let given = bitmap.array.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
      #expect(drawn == given && bitmap.array.count == bitmap.layout.byteCount)
    }
  }

  /// For a single style of known size, a storage that can draw is asked to draw, and gets no pixels.
  @Test func onlyFamiliesAndUnsizedStylesAreDrawnOutsideTheStore() async throws {
    let bench = try PipelineBench(GatedLoader(["a": PipelineBench.jpeg]))
    let storage = CountingStorage(StoreStorage(bench.store))
    let badge = try ImageStyle.free("badge") { picture, _ in picture }
    let pipeline = bench.pipeline(storage) { $0.families = [[wide, try! .square(30)]] }
    let single = try await pipeline.image(for: PictureRequest("a", style: square))
    #expect(single.bitmap.isMapped && storage.drawnCount == 1 && storage.givenByteCount == 0)
    let family = try await pipeline.image(for: PictureRequest("a", style: wide))
    #expect(family.bitmap.isMapped && storage.drawnCount == 1)
    #expect(storage.givenByteCount == (try layout(50, 20).byteCount) + (try layout(30, 30).byteCount))
    let free = try await pipeline.image(for: PictureRequest("a", style: badge))
    #expect(free.bitmap.isMapped && free.bitmap.size == PixelSize(width: 200, height: 120) && storage.drawnCount == 1)
    try bench.end()
  }

  @Test func keptOrNotedOriginalRemovesStylesOfTheOldOne() async throws {
    let bench = try PipelineBench()
    let storage = StoreStorage(bench.store)
    let pixels = StyledPicture(square, .pixels(.gradient(4, 4)))
    // All combinations of whether the old and the new original are kept.
    for (isKeptBefore, isKeptAfter) in [(true, true), (true, false), (false, true), (false, false)] {
      let key = "\(isKeptBefore) \(isKeptAfter)"
      func come(_ bytes: [UInt8], _ digest: Digest, _ isKept: Bool) async throws {
        if isKept {
          try await storage.saveOriginal(bytes, metadata: [], for: key)
        } else {
          try await storage.noteOriginal(digest, for: key)
        }
      }
      try await come(PipelineBench.jpeg, first, isKeptBefore)
      _ = try await storage.saveStyled([pixels], madeFrom: first, for: key)
      // Another put of the same original changes nothing, whether it is kept or not.
      try await come(PipelineBench.jpeg, first, isKeptBefore)
      try await come(PipelineBench.jpeg, first, isKeptAfter)
      #expect(try await storage.styled(square, for: key) != nil)
      try await come(PipelineBench.other, second, isKeptAfter)
      #expect(try await storage.styled(square, for: key) == nil)
      #expect(bench.store.contains(key) == isKeptAfter)
      // A picture made from the first original comes too late: it is returned and not kept.
      #expect(try await storage.saveStyled([pixels], madeFrom: first, for: key).count == 1)
      #expect(try await storage.styled(square, for: key) == nil)
      _ = try await storage.saveStyled([pixels], madeFrom: second, for: key)
      #expect(try await storage.styled(square, for: key) != nil)
    }
    try bench.end()
  }

  @Test func keptOriginalOrRemovalRemovesTheNote() async throws {
    let bench = try PipelineBench()
    let storage = StoreStorage(bench.store)
    try await storage.noteOriginal(first, for: "a")
    #expect(bench.store.count == 1 && bench.store.contains("a", style: StoreStorage.originalNote))
    try await storage.saveOriginal(PipelineBench.jpeg, metadata: [], for: "a")
    #expect(bench.store.count == 1 && bench.store.contains("a"))
    try await storage.noteOriginal(second, for: "a")
    try await storage.remove(["a"])
    #expect(bench.store.count == 0)
    // A note that is not a digest is ignored.
    try bench.store.put([1, 2, 3], for: "a", style: StoreStorage.originalNote)
    #expect(storage.digest(for: "a") == nil)
    try bench.end()
  }

  /// Another writer, which does not know of the drawing, replaces the original.
  @Test func originalReplacedDuringADrawingOutdatesThePicture() async throws {
    let bench = try PipelineBench()
    let store = bench.store
    let storage = StoreStorage(store, styleLimits: [square: 3])
    try await storage.saveOriginal(PipelineBench.jpeg, metadata: [], for: "a")
    let drawn = try await storage.drawStyled(
      square, layout: try layout(4, 4), metadata: [], madeFrom: first, for: "a"
    ) { _ in try store.put(PipelineBench.other, for: "a") }
    #expect(drawn == nil && !store.contains("a", style: square.key) && storage.index.count(of: square) == 0)
    try bench.end()
  }

  @Test func drawingThatThrowsLeavesNoPicture() async throws {
    let bench = try PipelineBench()
    let storage = StoreStorage(bench.store, styleLimits: [square: 1])
    _ = try await storage.saveStyled([StyledPicture(square, .pixels(.gradient(4, 4)))], madeFrom: first, for: "a")
    await #expect(throws: ImageError.outOfMemory(byteCount: 1)) {
      _ = try await storage.drawStyled(
        square, layout: BitmapLayout(width: 4, height: 4, format: .bgra8888)!, metadata: [], madeFrom: first, for: "b"
      ) { _ in throw ImageError.outOfMemory(byteCount: 1) }
    }
    #expect(try await storage.styled(square, for: "b") == nil)
    // The picture that would have made room for it stays.
    #expect(try await storage.styled(square, for: "a") != nil && storage.index.count(of: square) == 1)
    try bench.end()
  }
}

/// Forwards all calls, and counts the pixels that it gets.
private final class CountingStorage: ImageStorage {
  private let storage: StoreStorage
  private let counts = Locked((drawn: 0, bytes: 0))

  init(_ storage: StoreStorage) { self.storage = storage }

  var drawnCount: Int { counts.withLock { $0.drawn } }
  var givenByteCount: Int { counts.withLock { $0.bytes } }

  func original(for key: String) async throws -> StoredOriginal? { try await storage.original(for: key) }

  func saveOriginal(_ bytes: [UInt8], metadata: [UInt8], for key: String) async throws {
    try await storage.saveOriginal(bytes, metadata: metadata, for: key)
  }

  func setMetadata(_ metadata: [UInt8], ofOriginalFor key: String) async throws {
    try await storage.setMetadata(metadata, ofOriginalFor: key)
  }

  func styled(_ style: ImageStyle, for key: String) async throws -> StoredStyled? {
    try await storage.styled(style, for: key)
  }

  func saveStyled(
    _ pictures: [StyledPicture], madeFrom original: Digest, for key: String
  ) async throws -> [StoredStyled] {
    for case .pixels(let bitmap) in pictures.map(\.content) {
      counts.withLock { $0.bytes += bitmap.layout.byteCount }
    }
    return try await storage.saveStyled(pictures, madeFrom: original, for: key)
  }

  func drawStyled(
    _ style: ImageStyle, layout: BitmapLayout, metadata: [UInt8], madeFrom original: Digest, for key: String,
    _ draw: @escaping @Sendable (inout MutableRawSpan) throws -> Void
  ) async throws -> StoredStyled? {
    counts.withLock { $0.drawn += 1 }
    return try await storage.drawStyled(
      style, layout: layout, metadata: metadata, madeFrom: original, for: key, draw)
  }

  func noteOriginal(_ digest: Digest, for key: String) async throws {
    try await storage.noteOriginal(digest, for: key)
  }

  func remove(_ keys: [String]) async throws { try await storage.remove(keys) }

  func retain(only keys: [String], prefix: String?) async throws {
    try await storage.retain(only: keys, prefix: prefix)
  }
}
