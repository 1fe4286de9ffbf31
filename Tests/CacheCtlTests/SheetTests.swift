import CacheCtlKit
import Foundation
import Testing
import Vitrine
import VitrineImages

/// `cachectl sheet` on real stores.
@Suite struct SheetTests {
  private let tool: Tool
  private let red: [UInt8] = [0xB3, 0x26, 0x1E]

  init() throws { tool = try Tool() }

  private func put(_ bytes: [UInt8], _ words: String...) throws {
    #expect(try tool.run(["put", "s"] + words, input: Data(bytes)).status == 0)
  }

  /// The color in the middle of a picture of a sheet with this many pictures.
  private func middle(_ index: Int, of count: Int, _ sheet: DecodedImage) -> [UInt8] {
    let layout = SheetLayout(count: count, side: 176, captionLines: 3)
    let place = layout.place(index)
    return sheet.color(place.x + layout.pictureWidth / 2, place.y + layout.pictureHeight / 2)
  }

  private func corner(_ index: Int, of count: Int, _ sheet: DecodedImage) -> [UInt8] {
    let place = SheetLayout(count: count, side: 176, captionLines: 3).place(index)
    return sheet.color(place.x, place.y)
  }

  @Test func emptyStoreGivesASheetWithANote() throws {
    try put([1], "u")
    #expect(try tool.run("rm", "s", "u").status == 0)
    let outcome = try tool.run("sheet", "s", "--json")
    #expect(outcome.status == 0)
    #expect(outcome.json?["shown"] as? Int == 0 && outcome.json?["entries"] as? Int == 0)
    let sheet = try Photo.decoded(tool.read("sheet.png"))
    #expect(
      sheet.size.width == outcome.json?["width"] as? Int && sheet.size.height == outcome.json?["height"] as? Int)
  }

  @Test func sheetShowsBitmapsPicturesAndOtherValuesByLastUse() throws {
    // From the last shown to the first.
    try put(Array(Photo.jpeg(1000, 700).prefix(900)), "cut.jpg")
    try put(Array("plain text".utf8), "text")
    try put([], "empty")
    try put(ImageEncoder.encode(Photo.bitmap(80, 60), as: .png), "photo.png")
    // A blue, twelve by twelve, in each format.
    let blues: [(PixelFormat, [UInt8])] = [
      (.bgra8888, [255, 0, 0, 255]), (.rgba8888, [0, 0, 255, 255]), (.bgrx8888, [255, 0, 0, 0]),
      (.rgbx8888, [0, 0, 255, 0]), (.rgb565, [0x1F, 0]), (.gray8, [77]),
    ]
    #expect(Set(blues.map(\.0)) == Set(PixelFormat.allCases))
    for (format, pixel) in blues {
      let pixels = (0..<144).flatMap { _ in pixel }
      try put(pixels, "bitmap", "--style", "blue:\(format.name)", "--bitmap", "12x12:\(format.name)")
    }
    let outcome = try tool.run("sheet", "s", "--output", "all.png", "--json")
    #expect(outcome.status == 0)
    #expect(outcome.json?["shown"] as? Int == 10 && outcome.json?["entries"] as? Int == 10)
    #expect(outcome.json?["not_decoded"] as? Int == 3 && outcome.json?["damaged"] as? Int == 0)
    let sheet = try Photo.decoded(tool.read("all.png"))
    #expect(middle(0, of: 10, sheet) == [77, 77, 77])
    for place in 1..<6 { #expect(middle(place, of: 10, sheet) == [0, 0, 255], "at \(place)") }
    for place in 7..<10 { #expect(corner(place, of: 10, sheet) == red, "at \(place)") }
    for place in 0..<7 { #expect(corner(place, of: 10, sheet) != red, "at \(place)") }
    #expect(try tool.run("sheet", "s").text.contains("3 of them cannot be decoded as pictures\n"))
  }

  @Test func stylePrefixAndLimitSelectEntriesOfASheet() throws {
    for (url, style) in [("a/1", "x"), ("a/2", "x"), ("a/2", "y"), ("b/1", "x")] {
      try put([UInt8](repeating: 9, count: 16), url, "--style", style, "--bitmap", "4x4:Gray8")
    }
    func counts(_ words: String...) throws -> [Int?] {
      let json = try tool.run(["sheet", "s", "--json"] + words).json
      return [json?["shown"] as? Int, json?["entries"] as? Int]
    }
    #expect(try counts() == [4, 4])
    #expect(try counts("--style", "x") == [3, 3])
    #expect(try counts("--prefix", "a/") == [3, 3])
    #expect(try counts("--prefix", "a/", "--style", "y") == [1, 1])
    #expect(try counts("--limit", "2") == [2, 4])
    #expect(try counts("--style", "z") == [0, 0])
  }

  @Test func sheetOmitsThePipelinesNotes() async throws {
    let jpeg = try Photo.jpeg()
    let store = try CacheStore.open(at: tool.folder.path + "/s")
    let storage = StoreStorage(store)
    for key in ["a", "b"] {
      try await storage.noteOriginal(jpeg.withUnsafeBytes { Digest(of: $0) }, for: key)
    }
    try store.put(jpeg, for: "a", style: try #require(Style("square-20")))
    #expect(store.contains("a", style: StoreStorage.originalNote))
    try store.close()
    for words in [[], ["--prefix", "a"]] {
      let json = try tool.run(["sheet", "s", "--json"] + words).json
      #expect(json?["shown"] as? Int == 1 && json?["entries"] as? Int == 1 && json?["not_decoded"] as? Int == 0)
    }
    #expect(try tool.run("sheet", "s", "--json", "--style", "original-digest").json?["entries"] as? Int == 0)
  }

  @Test func sheetHasTheFormatOfItsNameAndTheRequestedSize() throws {
    try put(Photo.jpeg(), "a")
    for (name, format) in [("o.webp", ImageFormat.webp), ("o.jpg", .jpeg), ("o.png", .png)] {
      #expect(try tool.run("sheet", "s", "--output", name).status == 0)
      #expect(try Photo.decoded(tool.read(name)).info.format == format)
    }
    #expect(try tool.run("sheet", "s", "--size", "1024", "--output", "large.png").status == 0)
    let (small, large) = (try Photo.decoded(tool.read("o.png")), try Photo.decoded(tool.read("large.png")))
    #expect(large.size.width > small.size.width && large.size.height > small.size.height)
  }

  @Test func aStoreThatIsBeingWrittenIsShown() throws {
    let store = try CacheStore.open(at: tool.folder.path + "/s")
    try store.put(Photo.jpeg(), for: "a")
    try store.flush()
    #expect(try tool.run("sheet", "s", "--json").json?["shown"] as? Int == 1)
    try store.put(Photo.jpeg(10, 10), for: "b")
    try store.close()
  }

  @Test func aDamagedEntryIsAMarkedBoxAndAProblem() throws {
    let jpeg = try Photo.jpeg(300, 200, 5)
    try put(jpeg, "whole", "--style", "other")
    let broken = try Photo.jpeg(300, 200, 6)
    try put(broken, "broken")
    let segments = tool.folder.path + "/s/segments"
    var isBroken = false
    for name in try FileManager.default.contentsOfDirectory(atPath: segments) {
      let path = segments + "/" + name
      var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      guard let place = bytes.range(of: Data(broken)) else { continue }
      bytes[place.lowerBound + broken.count / 2] ^= 0xFF
      try bytes.write(to: URL(fileURLWithPath: path))
      isBroken = true
    }
    #expect(isBroken)
    let outcome = try tool.run("sheet", "s", "--json")
    #expect(outcome.status == 1)
    #expect(outcome.json?["damaged"] as? Int == 1 && outcome.json?["shown"] as? Int == 2)
    let sheet = try Photo.decoded(tool.read("sheet.png"))
    #expect(corner(0, of: 2, sheet) == red && corner(1, of: 2, sheet) != red)
  }

  @Test func missingStoreOrInvalidOptionDrawsNoSheet() throws {
    #expect(try tool.run("sheet", "s").status == 3)
    #expect(!FileManager.default.fileExists(atPath: tool.folder.path + "/s") && tool.read("sheet.png") == nil)
    for words in [
      ["--output", "sheet.gif"], ["--limit", "0"], ["--size", "10"], ["--style", "a b"], ["--limit", "many"],
      ["--size", "99999999999999999999"],
    ] {
      #expect(try tool.run(["sheet", "s"] + words).status == 2)
    }
    try put([UInt8](repeating: 9, count: 16), "u", "--bitmap", "4x4:Gray8")
    #expect(try tool.run("sheet", "s", "--output", "nofolder/sheet.png").status == 3)
  }
}
