import PictureFiles
import Testing

@testable import VitrineImages

@Suite struct JPEGDecodingTests {
  private let decoder = ImageDecoder()

  @Test(arguments: [JPEGFile.progressive, JPEGFile.scans, JPEGFile.arithmetic, JPEGFile.withScans(100)])
  func everyJPEGCodingGivesTheSamePicture(_ file: [UInt8]) throws {
    let image = try decoder.decode(file)
    #expect(image.size == PixelSize(width: 16, height: 8))
    #expect(image.color(0, 0).isNear(RGBA(200, 40, 40), within: 6))
    #expect(image.color(15, 7).isNear(RGBA(40, 80, 200), within: 6))
    #expect(!image.hasAlpha && image.info.bitsPerChannel == 8 && image.info.colors == .rgb)
    #expect(image.info.isProgressive == (file == JPEGFile.progressive))
  }

  @Test func restartMarkersAndSubsampledColorsAreRead() throws {
    let image = try decoder.decode(JPEGFile.restarts)
    #expect(image.size == PixelSize(width: 32, height: 16))
    #expect(image.color(0, 0).isNear(RGBA(200, 40, 40), within: 20))
    #expect(image.color(31, 15).isNear(RGBA(40, 80, 200), within: 6))
  }

  @Test func grayBecomesThreeEqualChannels() throws {
    let image = try decoder.decode(JPEGFile.gray)
    #expect(image.color(0, 0).isNear(RGBA(60, 60, 60), within: 4))
    #expect(image.color(15, 7).isNear(RGBA(180, 180, 180), within: 4))
    #expect(image.info.colors == .gray)
  }

  @Test(arguments: [JPEGFile.adobeCMYK, JPEGFile.plainCMYK, JPEGFile.ycck])
  func cmykIsConvertedToRGB(_ file: [UInt8]) throws {
    let image = try decoder.decode(file)
    #expect(image.info.colors == .cmyk && !image.hasAlpha)
    #expect(image.color(0, 0).isNear(RGBA(255, 0, 0), within: 10))
    #expect(image.color(15, 7).isNear(RGBA(0, 127, 127), within: 10))
  }

  @Test(arguments: [
    (1, 1, 8, 6), (8, 6, 8, 6), (9, 6, 16, 12), (8, 7, 16, 12), (20, 15, 24, 18), (33, 1, 40, 30), (64, 48, 64, 48),
    (1000, 1000, 64, 48),
  ])
  func smallestSufficientScaleIsChosen(_ width: Int, _ height: Int, _ gotWidth: Int, _ gotHeight: Int) throws {
    let file = try ImageEncoder.encode(.gradient(64, 48), as: .jpeg())
    let image = try decoder.decode(file, atLeast: PixelSize(width: width, height: height))
    #expect(image.size == PixelSize(width: gotWidth, height: gotHeight))
    #expect(image.info.size == PixelSize(width: 64, height: 48))
    let (x, y) = (gotWidth - 1, gotHeight - 1)
    #expect(image.color(x, y).isNear(try decoder.decode(file).color(63, 47), within: 24))
  }

  @Test func scaleIsChosenForTheUprightPicture() throws {
    let plain = try ImageEncoder.encode(.gradient(64, 48), as: .jpeg())
    let file = Exif.insert(Exif.block(6), intoJPEG: plain)
    let image = try decoder.decode(file, atLeast: PixelSize(width: 6, height: 16))
    #expect(image.size == PixelSize(width: 16, height: 12))
    #expect(image.uprightSize == PixelSize(width: 12, height: 16))
  }

  @Test(arguments: 1...8) func oddSidesAreRoundedUp(_ eighths: Int) throws {
    let file = try ImageEncoder.encode(.gradient(13, 7), as: .jpeg())
    let wanted = PixelSize(width: (13 * eighths + 7) / 8, height: 1)
    #expect(try decoder.decode(file, atLeast: wanted).size.width == wanted.width)
  }

  @Test func garbageBetweenSegmentsIsSkipped() throws {
    let file = JPEGFile.gray
    let frame = try #require(file.indices.dropLast().first { file[$0] == 0xFF && file[$0 + 1] == 0xC0 })
    let image = try decoder.decode(file[..<frame] + [1, 2, 3] + file[frame...])
    #expect(image.colors == (try decoder.decode(file).colors))
  }

  /// A whole picture is not refused for a warning that changes no pixel.
  @Test(arguments: [[0, 0], [0, 9], [1, 9], [2, 1], [255, 255]] as [[UInt8]])
  func anyRevisionOfJFIFIsAccepted(_ revision: [UInt8]) throws {
    let file = JPEGFile.progressive
    let header: [UInt8] = [0xFF, 0xE0, 0, 16] + Array("JFIF\0".utf8) + revision + [0, 0, 1, 0, 1, 0, 0]
    let image = try decoder.decode(file[..<2] + header + file[2...])
    #expect(image.colors == (try decoder.decode(file).colors))
  }

  @Test func unknownTransformOfAdobeIsAccepted() throws {
    var file = JPEGFile.adobeCMYK
    let adobe = try #require(file.indices.first { file[$0...].starts(with: "Adobe".utf8) })
    file[adobe + 11] = 9
    #expect(try decoder.decode(file).size == PixelSize(width: 16, height: 8))
  }

  @Test func bytesBehindThePixelsAreSkipped() throws {
    let file = JPEGFile.gray
    let image = try decoder.decode(file[..<(file.count - 2)] + [1, 2, 3, 4, 0xFF, 0xD9, 9, 9])
    #expect(image.colors == (try decoder.decode(file).colors))
  }

  @Test func garbageInThePixelsIsAnError() throws {
    // The last RST0 marker becomes RST5, which is out of order.
    var file = JPEGFile.restarts
    let marker = try #require(file.indices.dropLast().last { file[$0] == 0xFF && file[$0 + 1] == 0xD0 })
    file[marker + 1] = 0xD5
    #expect { try decoder.decode(file) } throws: { error in
      if case .corrupt(.jpeg, _)? = error as? ImageError { true } else { false }
    }
  }

  @Test func onlyTheEndMarkerMayBeMissing() throws {
    for file in [JPEGFile.gray, JPEGFile.progressive, JPEGFile.scans] {
      #expect(try decoder.decode(Array(file.dropLast(2))).colors == decoder.decode(file).colors)
      #expect(throws: ImageError.truncated(.jpeg)) { try decoder.decode(Array(file.dropLast(3))) }
    }
    let scans = JPEGFile.scans
    let last = try #require(scans.indices.dropLast().last { scans[$0] == 0xFF && scans[$0 + 1] == 0xDA })
    #expect(throws: ImageError.truncated(.jpeg)) { try decoder.decode(Array(scans[..<last])) }
  }

  @Test func thousandsOfScansAreNotDecoded() {
    #expect(throws: ImageError.corrupt(.jpeg, reason: "more than 500 scans")) {
      try decoder.decode(JPEGFile.withScans(2000))
    }
  }

  @Test func twelveBitJPEGIsUnsupported() throws {
    var file = JPEGFile.gray
    let frame = try #require(file.indices.dropLast().first { file[$0] == 0xFF && file[$0 + 1] == 0xC0 })
    file[frame + 4] = 12
    #expect { try decoder.decode(file) } throws: { error in
      if case .unsupportedFormat? = error as? ImageError { true } else { false }
    }
  }
}
