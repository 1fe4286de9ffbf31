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

  // MARK: XMP

  private static func filesWithPacket(_ packet: String, exif: Int? = nil) throws -> [[UInt8]] {
    var jpeg = Exif.insert(xmp: packet, intoJPEG: JPEGFile.gray)
    if let exif { jpeg = Exif.insert(Exif.block(exif), intoJPEG: jpeg) }
    let text = (name: "iTXt", content: Array("XML:com.adobe.xmp\0\0\0\0\0".utf8) + Array(packet.utf8))
    let block = exif.map { [(name: "eXIf", content: Exif.block($0))] } ?? []
    let png = PNGFile(width: 4, height: 2, chunks: [text], lastChunks: block) { _, _ in [1, 2, 3, 4] }
    let webp = WebPFile.file(
      [
        WebPFile.extended(16, 8, flags: 0x0C), try WebPFile.picture(.gradient(16, 8), .webp()),
        WebPFile.chunk("XMP ", Array(packet.utf8)),
      ] + (exif.map { [WebPFile.chunk("EXIF", Exif.block($0))] } ?? []))
    return [jpeg, png.bytes, webp]
  }

  @Test(arguments: Orientation.allCases, [false, true])
  func orientationOfXMPIsReadInEveryFormat(_ orientation: Orientation, _ isElement: Bool) throws {
    for file in try Self.filesWithPacket(Exif.packet(orientation.rawValue, isElement: isElement)) {
      #expect(try ImageDecoder().decode(file).orientation == orientation)
    }
  }

  @Test func orientationOfXMPCountsOnlyWithoutOneOfExif() throws {
    for file in try Self.filesWithPacket(Exif.packet(3), exif: 6) {
      #expect(try ImageDecoder().info(of: file).orientation == .turnedLeft)
    }
    for file in try Self.filesWithPacket(Exif.packet(3), exif: 99) {
      #expect(try ImageDecoder().info(of: file).orientation == .upsideDown)
    }
  }

  @Test(arguments: [
    "", "tiff:Orientation", "tiff:Orientation=", "tiff:Orientation=\"", "tiff:Orientation=\"0\"",
    "tiff:Orientation=\"9\"", "tiff:Orientation=\"66\"", "tiff:Orientations=\"6\"", "Orientation=\"6\"",
  ]) func packetWithoutAnOrientationIsUpright(_ packet: String) throws {
    for file in try Self.filesWithPacket(packet) {
      #expect(try ImageDecoder().info(of: file).orientation == .upright)
    }
  }
}
