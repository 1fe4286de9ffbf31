import FuzzSupport

@testable import PictureFiles
@testable import VitrineImages

/// A small picture of each kind, in each way of decoding it.
enum PictureSeeds {
  static func all() throws -> [[UInt8]] {
    let files = try jpeg() + png() + webp() + animations()
    var seeds: [[UInt8]] = []
    for (number, file) in files.enumerated() {
      let side = UInt8(1 + number % 7)
      seeds.append([1] + file)
      seeds.append([side << 1 | (number % 2 == 0 ? 0 : 16)] + file)
    }
    // Pictures that exceed the limit of memory if bit 4 is set.
    for encoding in [ImageEncoder.Encoding.jpeg(), .png, .webp(), .losslessWebP] {
      seeds.append([16] + (try ImageEncoder.encode(.gradient(60, 40), as: encoding)))
    }
    return seeds
  }

  private static func animations() throws -> [[UInt8]] {
    let frames = AnimatedFile.Disposal.allCases.map { disposal in
      var frame = AnimatedFile.Frame(4, 3) { x, y in RGBA(UInt8(x * 60), UInt8(y * 80), 9, x == y ? 0 : 255) }
      (frame.left, frame.top) = (disposal.rawValue * 2, 2)
      frame.disposal = disposal
      frame.isBlended = disposal != .clear
      return frame
    }
    let file = AnimatedFile(8, 6, [.init(8, 6) { _, _ in RGBA(200, 10, 20) }] + frames)
    return [file.png, file.png(hasOwnDefault: true), try file.webp]
  }

  private static func jpeg() throws -> [[UInt8]] {
    let plain = try ImageEncoder.encode(.gradient(24, 17), as: .jpeg())
    return [
      plain, JPEGFile.progressive, JPEGFile.scans, JPEGFile.arithmetic, JPEGFile.gray, JPEGFile.adobeCMYK,
      JPEGFile.plainCMYK, JPEGFile.ycck, JPEGFile.restarts, JPEGFile.withScans(20),
      Exif.insert(Exif.block(6), intoJPEG: plain),
    ]
  }

  private static func png() throws -> [[UInt8]] {
    var files = [try ImageEncoder.encode(.gradient(24, 17), as: .png)]
    for isInterlaced in [false, true] {
      for (color, channels, depths) in [
        (PNGFile.Color.gray, 1, [1, 2, 4, 8, 16]), (.rgb, 3, [8, 16]), (.grayAlpha, 2, [8, 16]), (.rgba, 4, [8, 16]),
      ] {
        for depth in depths {
          files.append(
            PNGFile(width: 9, height: 5, depth: depth, color: color, isInterlaced: isInterlaced) { x, y in
              (0..<channels).map { (x + y + $0) % 2 }
            }.bytes)
        }
      }
      let extras: [(name: String, content: [UInt8])] = [
        ("PLTE", [200, 10, 20, 30, 40, 250]), ("tRNS", [77]), ("eXIf", Exif.block(3)),
        ("acTL", [0, 0, 0, 1, 0, 0, 0, 0]),
        ("zTXt", Array("key\0\0".utf8) + PNGFile.stored([65, 66])),
      ]
      files.append(
        PNGFile(width: 9, height: 5, depth: 2, color: .palette, isInterlaced: isInterlaced, chunks: extras) { x, y in
          [(x + y) % 2]
        }.bytes)
    }
    return files
  }

  private static func webp() throws -> [[UInt8]] {
    let picture = try WebPFile.picture(.gradient(16, 8), .webp())
    return try [
      ImageEncoder.encode(.gradient(24, 17), as: .webp()), ImageEncoder.encode(.glass(24, 17), as: .webp()),
      ImageEncoder.encode(.glass(24, 17), as: .losslessWebP), WebPFile.animation(),
      WebPFile.file([WebPFile.extended(16, 8, flags: 8), picture, WebPFile.chunk("EXIF", Exif.block(5))]),
    ]
  }
}
