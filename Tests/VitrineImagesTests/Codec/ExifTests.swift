import PictureFiles
import Testing
import VitrineImages

@Suite struct ExifTests {
  private static func jpeg(_ block: [UInt8]) throws -> [UInt8] { Exif.insert(block, intoJPEG: JPEGFile.gray) }

  private static func png(_ block: [UInt8], isLast: Bool = false) -> [UInt8] {
    let chunks = [(name: "eXIf", content: block)]
    return PNGFile(width: 4, height: 2, chunks: isLast ? [] : chunks, lastChunks: isLast ? chunks : []) { x, y in
      [x, y, 0, 255]
    }.bytes
  }

  private static func webp(_ block: [UInt8]) throws -> [UInt8] {
    WebPFile.file([
      WebPFile.extended(16, 8, flags: 0x08), try WebPFile.picture(.gradient(16, 8), .webp()),
      WebPFile.chunk("EXIF", block),
    ])
  }

  @Test(arguments: Orientation.allCases, [true, false])
  func everyOrientationIsReadInEveryFormat(_ orientation: Orientation, _ isLittleEndian: Bool) throws {
    let block = Exif.block(orientation.rawValue, isLittleEndian: isLittleEndian)
    let files = [
      try Self.jpeg(block), Self.png(block), Self.png(block, isLast: true), try Self.webp(block),
      try Self.webp(Array("Exif\0\0".utf8) + block),
    ]
    for file in files {
      let image = try ImageDecoder().decode(file)
      #expect(image.orientation == orientation)
      #expect(image.size == image.info.size)
      #expect(image.uprightSize == (orientation.rawValue < 5 ? image.size : image.size.transposed))
    }
  }

  @Test(arguments: [0, 9, 255, 65_535]) func invalidOrientationIsUpright(_ value: Int) throws {
    #expect(try ImageDecoder().info(of: Self.jpeg(Exif.block(value))).orientation == .upright)
  }

  @Test func truncatedExifIsUprightAndDamagedExifNeverTraps() throws {
    let block = Exif.block(6)
    for count in 0..<block.count {
      for file in [try Self.jpeg(Array(block[..<count])), Self.png(Array(block[..<count]))] {
        let orientation = try ImageDecoder().info(of: file).orientation
        #expect(orientation == (count >= 32 ? .turnedLeft : .upright), "\(count) bytes")
      }
    }
    for offset in block.indices {
      for value: UInt8 in [0, 1, 0x7F, 0x80, 0xFF] {
        var changed = block
        changed[offset] = value
        _ = try ImageDecoder().info(of: Self.jpeg(changed))
        _ = try ImageDecoder().info(of: Self.webp(changed))
      }
    }
  }

  @Test func segmentsBeforeExifAreSkipped() throws {
    let file = try Self.jpeg(Exif.block(8))
    let comment: [UInt8] = [0xFF, 0xFE, 0, 6, 0xFF, 0xE1, 0, 1]
    #expect(try ImageDecoder().info(of: file[..<2] + comment + file[2...]).orientation == .turnedRight)
  }
}
