import Testing
import Vitrine

@testable import VitrineImages

/// Each style has one name, and each name means one style.
@Suite struct StyleNameTests {
  @Test(arguments: [
    "original", "square-60", "square-60@2x", "square-60-fit", "square-60-fit@1.5x:RGB565", "rectangle-100x50",
    "rectangle-0.5x12.125-fit", "rounded-60x60-r30@2x", "rounded-60x40-r8.5-b1.25-fit", "square-16384",
    "square-1024@16x",
    "free-badge.v1", "free-badge.v0-Anna_9", "free-badge.v12-%C3%84nne@3x:RGBA8888", "free-fit.v1-fit",
    "free-%2E%2D%40%3A%25.v1-%00", "square-12:Gray8", "square-0.001@0.125x",
  ])
  func nameIsReadAndWrittenUnchanged(_ name: String) throws {
    let style = try ImageStyle(name: name)
    #expect(style.name == name && style.key.name == name && style.description == name)
    let again = try ImageStyle(style.shape, scale: style.scale, format: style.format)
    #expect(again == style && again.name == name)
  }

  @Test(arguments: [
    "", "-", "square", "square-", "square-60x60", "square--60", "square-60-", "square-60-fit-fit", "square-fit",
    "square-060", "square-60.0", "square-60.1234", "square-60.", "square-.5", "square-6e1", "square-+6", "square-６",
    "square-60@1x", "square-60@2", "square-60@x", "square-60@2X", "square-60@@2x", "square-60@02x", "square-60@2x@2x",
    "square-60:BGRA8888", "square-60:bgra8888", "square-60:", "square-60:RGB565:RGB565", "square-60:RGB565@2x",
    "rectangle-60x60", "rectangle-60", "rectangle-60x", "rectangle-x60", "rectangle-1x2x3", "rounded-60x60",
    "rounded-60x60-r", "rounded-60x60-r30-b0", "rounded-60x60-b3-r30", "rounded-60x60-r30-b3-b3", "rounded-60x60-r0",
    "rounded-60x60-r31", "rounded-60x60-r30-b30", "rounded-60x60-r30:RGB565", "Square-60", "SQUARE-60", " square-60",
    "square-60 ", "square-60\n", "original@2x", "original:Gray8", "original-fit", "free", "free-", "free-a",
    "free-a.v",
    "free-.v1", "free-a.v1-", "free-a.v1.5", "free-a.v1.0", "free-a.v01", "free-a.v1-b-c", "free-%41.v1",
    "free-%2d.v1",
    "free-%FF.v1", "free-%4.v1", "free-%.v1", "free-a b.v1", "free-ä.v1", "free-a.v1000000000", "free-a.v-1",
    "square-0", "square-16385", "square-60@17x", "square-60@0.1x", "square-999999999999999999999", "square-60@2x-fit",
    "square-999999999999", "rounded-60x60-r999999999999", "rounded-60x60-r30-b999999999999",
    "square-60@999999999999x",
  ])
  func invalidNameIsRefused(_ name: String) {
    #expect(throws: ImageError.self) { try ImageStyle(name: name) }
  }

  @Test func errorOfAnotherSpellingNamesTheRightOne() {
    #expect(throws: ImageError.invalidStyle("rectangle-60x60@2.0x", reason: "it is spelled square-60@2x")) {
      try ImageStyle(name: "rectangle-60x60@2.0x")
    }
  }

  @Test(arguments: [UInt64(1), 2, 3, 4])
  func differentStylesHaveDifferentNames(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var found: [String: ImageStyle] = [:]
    for _ in 0..<3000 {
      guard let style = RandomStyle.valid(&random) else { continue }
      let again = try ImageStyle(name: style.name)
      #expect(again.name == style.name && again == style && RandomStyle.isSame(again, style), "\(style.name)")
      if let other = found[style.name] { #expect(RandomStyle.isSame(style, other), "\(style.name)") }
      found[style.name] = style
    }
    #expect(found.count > 300)
  }

  /// A name with a changed byte is invalid, or the name of another style.
  @Test(arguments: [UInt64(5), 6])
  func changedNameIsInvalidOrAnotherStyle(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let bytes = Array("0129.x-@:%_abfrvAZ +\0é".utf8)
    for _ in 0..<3000 {
      guard let style = RandomStyle.valid(&random) else { continue }
      var name = Array(style.name.utf8)
      let place = random.below(name.count)
      switch random.below(3) {
      case 0: name[place] = bytes[random.below(bytes.count)]
      case 1: name.insert(bytes[random.below(bytes.count)], at: place)
      default: name.remove(at: place)
      }
      let text = String(decoding: name, as: UTF8.self)
      guard !text.utf8.elementsEqual(style.name.utf8), let other = try? ImageStyle(name: text) else { continue }
      #expect(other != style && other.name == text && !RandomStyle.isSame(style, other), "\(style.name) \(text)")
    }
  }

  @Test func namesThatDifferOnlyInBytesAreTwoStyles() throws {
    let composed = try ImageStyle.free("b\u{FC}ro") { picture, _ in picture }
    let decomposed = try ImageStyle.free("bu\u{308}ro") { picture, _ in picture }
    #expect(composed != decomposed && composed.name != decomposed.name && composed.shape != decomposed.shape)
  }

  @Test func drawingFunctionIsLookedUpByNameAndVersion() throws {
    var asked: [String] = []
    let style = try ImageStyle(name: "free-%40home.v7-x") { name, version in
      asked.append("\(name) \(version)")
      return { picture, _ in picture }
    }
    #expect(asked == ["@home 7"])
    guard case .free(let form) = style.shape else { throw ImageError.invalidArgument("not a free form") }
    #expect(form.name == "@home" && form.version == 7 && form.parameter == "x" && form.draw != nil)
  }

  @Test func invalidStyleArgumentsAreErrors() {
    func refused(_ make: () throws -> ImageStyle) { #expect(throws: ImageError.self) { try make() } }
    refused { try .square(0) }
    refused { try .square(-1) }
    refused { try .square(Points(.nan)) }
    refused { try .square(Points(.infinity)) }
    refused { try .square(Points(1e300)) }
    refused { try .square(16_385) }
    refused { try .square(8193, scale: 2) }
    refused { try .square(60, scale: 0.124) }
    refused { try .square(60, scale: 16.001) }
    refused { try .square(60, scale: Points(.nan)) }
    refused { try .roundedRectangle(60, 40, cornerRadius: 20.001) }
    refused { try .roundedRectangle(60, 40, cornerRadius: 0) }
    refused { try .roundedRectangle(60, 40, cornerRadius: -3) }
    refused { try .roundedRectangle(60, 40, cornerRadius: Points(1e300)) }
    refused { try .roundedRectangle(60, 40, cornerRadius: 10, borderWidth: 20) }
    refused { try .roundedRectangle(60, 40, cornerRadius: 10, borderWidth: -1) }
    refused { try .roundedRectangle(60, 40, cornerRadius: 10, borderWidth: Points(1e300)) }
    for format in PixelFormat.allCases where format != .bgra8888 && format != .rgba8888 {
      refused { try .circle(60, format: format) }
    }
    refused { try ImageStyle(.original, scale: 2) }
    refused { try ImageStyle(.original, format: .gray8) }
    refused { try .free("") { picture, _ in picture } }
    refused { try .free(String(repeating: "a", count: 65)) { picture, _ in picture } }
    refused { try .free("a", version: -1) { picture, _ in picture } }
    refused { try .free("a", version: 1_000_000_000) { picture, _ in picture } }
    refused { try .free("a", parameter: String(repeating: "a", count: 65)) { picture, _ in picture } }
    // Both parts are within their limits, but with all bytes escaped the name is too long.
    let long = String(repeating: "%", count: 64)
    refused { try .free(long, parameter: long) { picture, _ in picture } }
  }

  @Test func lengthsAreRoundedToAThousandth() throws {
    #expect(
      Points(60).description == "60" && Points(0.1).description == "0.1" && Points(12.5004).description == "12.5")
    #expect(Points(-0.25).description == "-0.25" && Points(1.005).thousandths == 1005)
    #expect(try ImageStyle.square(Points(1.0 / 3)).name == "square-0.333")
    #expect(try ImageStyle.square(33.333, scale: 3).pixelSize == PixelSize(width: 100, height: 100))
    #expect(try ImageStyle.square(0.001).pixelSize == PixelSize(width: 1, height: 1))
    #expect(try ImageStyle.circle(12.345).name == "rounded-12.345x12.345-r6.173")
  }
}
