import Foundation
import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

@Suite struct SVGDecodingTests {
  private static let red = RGBA(200, 40, 40)
  private static let blue = RGBA(40, 80, 200)

  /// Two halves, 16 x 8 units, with these attributes of the root.
  private static func halves(_ attributes: String = "width='16' height='8'") -> [UInt8] {
    svg(
      attributes,
      "<rect width='8' height='8' fill='rgb(200,40,40)'/><rect x='8' width='8' height='8' fill='rgb(40,80,200)'/>")
  }

  private static func svg(_ attributes: String, _ content: String) -> [UInt8] {
    Array("<svg xmlns='http://www.w3.org/2000/svg' \(attributes)>\(content)</svg>".utf8)
  }

  private static func color(_ bitmap: Bitmap, _ x: Int, _ y: Int) -> RGBA {
    let pixel = bitmap.pixel(x, y)
    return RGBA(pixel[2], pixel[1], pixel[0], pixel[3])
  }

  private static func processes(_ change: (inout ProcessDecoder.Options) -> Void = { _ in }) -> ProcessDecoder {
    var options = ProcessDecoder.Options()
    options.processCount = 1
    options.limits.milliseconds = 60_000
    change(&options)
    return ProcessDecoder(executable: Programs.decoder, options: options)
  }

  @Test func pictureIsDrawnAtItsOwnSize() throws {
    let image = try Self.processes().decode(Self.halves())
    #expect(image.size == PixelSize(width: 16, height: 8) && image.info.size == image.size)
    #expect(image.info.format == .svg && image.info.isVector && image.hasAlpha && image.info.isLossless)
    #expect(image.color(0, 0) == Self.red && image.color(7, 7) == Self.red)
    #expect(image.color(8, 0) == Self.blue && image.color(15, 7) == Self.blue)
  }

  /// Edges stay sharp: no pixel is mixed.
  @Test(arguments: ["width='16' height='8'", "viewBox='0 0 16 8'"])
  func pictureIsDrawnAtTheSizeThatIsNeeded(_ attributes: String) throws {
    let processes = Self.processes()
    for (wanted, width, height) in [
      (PixelSize(width: 160, height: 10), 160, 80), (PixelSize(width: 2, height: 2), 4, 2),
    ] {
      let image = try processes.decode(Self.halves(attributes), atLeast: wanted)
      #expect(image.size == PixelSize(width: width, height: height))
      #expect(image.info.size == PixelSize(width: 16, height: 8))
      #expect(image.color(width / 2 - 1, height - 1) == Self.red && image.color(width / 2, 0) == Self.blue)
    }
  }

  @Test func colorsAreStraight() throws {
    let content = "<rect width='4' height='4' fill='rgb(200,40,40)' fill-opacity='0.5'/>"
    let image = try Self.processes().decode(Self.svg("width='8' height='4'", content))
    #expect(image.color(0, 0).isNear(RGBA(200, 40, 40, 128), within: 1), "\(image.color(0, 0))")
    #expect(image.color(7, 3) == RGBA(0, 0, 0, 0))
  }

  @Test(arguments: [
    ("width='1in' height='25.4mm'", 96, 96), ("width='72pt' height='6pc'", 96, 96), ("width='10.2' height='3'", 11, 3),
    ("width='0.1' height='0.2'", 1, 1), ("viewBox='0 0 30 20'", 30, 20), ("width='60' viewBox='0 0 30 20'", 60, 40),
    ("height='60' viewBox='0 0 30 20'", 90, 60), ("width='100%' height='100%' viewBox='0 0 30 20'", 30, 20),
    ("", 300, 150), ("width='50%'", 300, 150),
  ])
  func sizeIsThatOfABrowser(_ attributes: String, _ width: Int, _ height: Int) throws {
    let image = try Self.processes().decode(Self.halves(attributes))
    #expect(image.info.size == PixelSize(width: width, height: height))
  }

  @Test func impossibleSizesAreErrors() {
    let processes = Self.processes()
    func error(_ file: [UInt8]) -> ImageError? {
      do throws(ImageError) {
        _ = try processes.decode(file)
        return nil
      } catch {
        return error
      }
    }
    let most = Int(Int32.max)
    #expect(
      error(Self.halves("width='1e30' height='8'")) == .tooLarge(width: most, height: 8, limit: "32768 pixels a side"))
    #expect(error(Self.halves("width='0' height='8'")) == .corrupt(.svg, reason: "a side is not above 0"))
    let truncated = Array(Self.halves().dropLast(9))
    guard case .corrupt(.svg, _)? = error(truncated) else {
      Issue.record("\(String(describing: error(truncated)))")
      return
    }
  }

  /// The resampler enlarges such a picture for its style. The error of one style must not concern the others.
  @Test func drawingIsNotLargerThanTheLimits() throws {
    let thin = Self.svg("width='1' height='1000'", "<rect width='1' height='1000' fill='rgb(200,40,40)'/>")
    let image = try Self.processes().decode(thin, atLeast: PixelSize(width: 100, height: 100))
    #expect(image.size == PixelSize(width: 32, height: 32_767) && image.color(16, 16_000) == Self.red)
    for seed in 0..<5000 {
      var random = SeededRandom(seed: UInt64(seed))
      func side() -> Int { 1 + random.below(1 << (1 + random.below(16))) }
      let (picture, wanted) = (PixelSize(width: side(), height: side()), PixelSize(width: side(), height: side()))
      let limits = DecodingLimits(side: 32_768, pixelCount: 1 << 20, byteCount: 8 << 20)
      let size = VectorScale.size(of: picture, atLeast: wanted, limits)
      #expect(size.width > 0 && size.height > 0 && max(size.width, size.height) <= limits.side)
      let isWhole = size.width >= wanted.width && size.height >= wanted.height
      #expect(isWhole || size.width * size.height > limits.pixelCount / 4 || max(size.width, size.height) > 32_000)
      // Sides are rounded up to whole pixels.
      let most = limits.pixelCount + size.width + size.height
      #expect(size.width * size.height <= most, "\(picture) for \(wanted): \(size)")
    }
  }

  /// The file has one and a half by one pixels.
  @Test func smallPictureKeepsItsProportions() throws {
    let file = Self.svg("viewBox='0 0 1.5 1'", "<rect width='1.5' height='1' fill='rgb(200,40,40)'/>")
    let image = try Self.processes().decode(file, atLeast: PixelSize(width: 300, height: 1))
    #expect(image.size == PixelSize(width: 300, height: 150))
    #expect(image.color(150, 0) == Self.red && image.color(45, 75) == Self.red && image.color(254, 149) == Self.red)
    #expect(image.color(30, 75) == RGBA(0, 0, 0, 0) && image.color(269, 75) == RGBA(0, 0, 0, 0))
  }

  /// Nothing outside the file is loaded, no script runs, and no text grows beyond bounds.
  @Test func hostileFilesAreErrorsOrPictures() throws {
    let picture = FileManager.default.temporaryDirectory.appendingPathComponent("vitrine-\(UUID().uuidString).png")
    try Data(ImageEncoder.encode(.gradient(16, 8), as: .png)).write(to: picture)
    defer { try? FileManager.default.removeItem(at: picture) }
    let processes = Self.processes()
    for content in [
      "<image href='\(picture.absoluteString)' width='16' height='8'/>",
      "<image href='\(picture.path)' width='16' height='8'/>",
      "<script>document.documentElement.setAttribute('fill', 'red')</script>", "<use href='file:///etc/passwd#a'/>",
    ] {
      let image = try processes.decode(Self.svg("width='16' height='8'", content))
      #expect(image.colors.allSatisfy { $0 == RGBA(0, 0, 0, 0) }, "\(content)")
    }
    var entities = "<!DOCTYPE svg [<!ENTITY a0 'aaaaaaaaaa'>"
    for level in 1..<12 {
      let name = "&a\(level - 1);"
      entities += "<!ENTITY a\(level) '\(String(repeating: name, count: 10))'>"
    }
    let laughs = Array("\(entities)]><svg xmlns='http://www.w3.org/2000/svg'><text>&a11;</text></svg>".utf8)
    let deep = Self.svg("", String(repeating: "<g>", count: 100_000))
    let loop = Self.svg("width='16' height='8'", "<g id='a'><use href='#a'/><use href='#a'/></g>")
    for file in [laughs, deep, loop] { _ = try? processes.decode(file) }
    // A process is there for the next picture.
    #expect(try processes.decode(Self.halves()).color(0, 0) == Self.red)
  }

  @Test func drawingBeyondItsTimeIsEnded() {
    let processes = Self.processes {
      $0.limits.milliseconds = 100
      $0.graceMilliseconds = 100
    }
    let noise =
      "<filter id='f' x='0' y='0' width='1' height='1'>"
      + String(repeating: "<feTurbulence baseFrequency='0.9' numOctaves='9'/>", count: 500)
      + "</filter><rect width='4000' height='4000' filter='url(#f)'/>"
    #expect(throws: ImageError.tookTooLong(milliseconds: 100)) {
      try processes.decode(Self.svg("width='4000' height='4000'", noise))
    }
    #expect(processes.processIdentifiers.isEmpty)
  }

  @Test func decoderOfTheCallingProcessDrawsSVGOnlyWithASVGDecoder() throws {
    #expect(throws: ImageError.unsupportedFormat(found: "SVG")) { try ImageDecoder().decode(Self.halves()) }
    let processes = Self.processes()
    let decoder = ImageDecoder(formats: [SVGDecoder(processes)])
    #expect(try decoder.info(of: Self.halves()).size == PixelSize(width: 16, height: 8))
    #expect(try decoder.decode(Self.halves(), atLeast: PixelSize(width: 64, height: 8)).color(31, 0) == Self.red)
    #expect(processes.processIdentifiers.count == 1)
    let small = ImageDecoder(limits: DecodingLimits(side: 100), formats: [SVGDecoder(processes)])
    #expect(try small.decode(Self.halves(), atLeast: PixelSize(width: 200, height: 1)).size.width == 100)
    let wide = Self.halves("width='160' height='80'")
    #expect(throws: ImageError.tooLarge(width: 160, height: 80, limit: "100 pixels a side")) { try small.decode(wide) }
  }

  @Test func styleEnlargesAVectorPicture() throws {
    let decoder = ImageDecoder(formats: [SVGDecoder(Self.processes())])
    let bytes = Self.halves().span.bytes
    let (fitted, info) = try decoder.rendered(bytes, .square(100, mode: .fit))
    #expect(fitted.size == PixelSize(width: 100, height: 50) && info.format == .svg)
    let (filled, _) = try decoder.rendered(bytes, .square(64))
    #expect(filled.size == PixelSize(width: 64, height: 64))
    for bitmap in [fitted, filled] {
      let (x, y) = (bitmap.width / 2, bitmap.height / 2)
      #expect(Self.color(bitmap, x - 3, y).isNear(Self.red, within: 1), "\(bitmap.pixel(x - 3, y))")
      #expect(Self.color(bitmap, x + 2, y).isNear(Self.blue, within: 1), "\(Self.color(bitmap, x + 2, y))")
    }
  }

  @Test(arguments: [true, false])
  func pipelineDrawsEachStyleAtItsSize(_ isOriginalFirst: Bool) async throws {
    let bench = try PipelineBench(GatedLoader(["https://x.example/a": Self.halves()]))
    let pipeline = bench.pipeline { $0.decoder = ImageDecoder(formats: [SVGDecoder(Self.processes())]) }
    let styles: [ImageStyle] = try [.original, .square(100, mode: .fit)]
    for style in isOriginalFirst ? styles : styles.reversed() {
      let picture = try await pipeline.image(for: PictureRequest("https://x.example/a", style: style)).bitmap
      let width = style == .original ? 16 : 100
      #expect(picture.size == PixelSize(width: width, height: width / 2), "\(style.name)")
      #expect(
        Self.color(picture, width / 2 - 3, 2).isNear(Self.red, within: 1), "\(Self.color(picture, width / 2 - 3, 2))")
    }
    #expect(bench.loader.loads.count == 1)
    let original = try #require(bench.store.blob("https://x.example/a"))
    #expect(original.withBytes { $0.withUnsafeBytes { Array($0) } } == Self.halves())
    await pipeline.finishWork()
    try bench.end()
  }

  /// Both styles are drawn from one decoding.
  @Test func originalAndLargerStyleShareADecoding() throws {
    let image = try Self.processes().decode(Self.halves(), atLeast: PixelSize(width: 200, height: 100))
    let bitmaps = try image.rendered([.original, .square(100, mode: .fit)])
    #expect(bitmaps.map(\.size) == [PixelSize(width: 16, height: 8), PixelSize(width: 100, height: 50)])
    #expect(Self.color(bitmaps[0], 5, 4).isNear(Self.red, within: 1))
    #expect(Self.color(bitmaps[0], 10, 4).isNear(Self.blue, within: 1))
  }

  @Test(arguments: [
    ("<svg>", true), ("<svg/>", true), ("<svg ", true), ("\u{FEFF} \r\n\t<svg>", true), ("<s:svg xmlns:s='a'>", true),
    ("<?xml version='1.0'?><!-- <html> --><!DOCTYPE svg PUBLIC '>' \"]>\" [<!ENTITY a '>'>]><svg>", true),
    ("<?xml version='1.0'?><?xml-stylesheet href='a'?><svg>", true),
    ("", false), ("<", false), ("<svg", false), ("<svga>", false), ("<html><svg>", false), ("svg", false),
    ("<!-- <svg> ", false), ("<?xml", false), ("<!DOCTYPE svg [", false), ("<!DOCTYPE html><html><svg>", false),
    ("{\"a\": \"<svg>\"}", false),
  ])
  func formatIsRecognizedByTheFirstElement(_ text: String, _ isSVG: Bool) {
    let bytes = Array(text.utf8)
    #expect(((try? ImageFormat(of: bytes.span.bytes)) == .svg) == isSVG)
  }

  @Test func recognitionReadsALimitedPart() {
    let long = Array("<!--\(String(repeating: " ", count: 1 << 20))--><svg>".utf8)
    #expect(throws: ImageError.self) { try ImageFormat(of: long.span.bytes) }
  }
}
