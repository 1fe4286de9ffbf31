import Foundation
import LocalServer
import Vitrine
import VitrineImages

/// Pictures to load and to check.
enum Photo {
  /// Slow waves of color, the same for the same number.
  static func bitmap(_ width: Int, _ height: Int, _ number: Int = 0) throws -> Bitmap {
    let layout = BitmapLayout(width: width, height: height, format: .rgbx8888)!
    return try Bitmap(layout: layout) { memory in
      for y in 0..<height {
        for x in 0..<width {
          let pixel = [x * 255 / width, y * 255 / height, number * 40 & 255, 255]
          for (channel, value) in pixel.enumerated() {
            memory.storeBytes(
              of: UInt8(value), toByteOffset: (y * width + x) * 4 + channel, as: UInt8.self)
          }
        }
      }
    }
  }

  static func jpeg(_ width: Int = 200, _ height: Int = 150, _ number: Int = 0) throws -> [UInt8] {
    try ImageEncoder.encode(bitmap(width, height, number), as: .jpeg())
  }

  /// Serves files by their path, each `delay` milliseconds late, so that simultaneous requests overlap.
  static func serve(_ files: [String: [UInt8]], delay: Int = 0) throws -> TestServer {
    try TestServer { request in
      guard let body = files[request.path] else { return .status(404) }
      return .init(headers: ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"], body: body, delay: delay)
    }
  }

  static func decoded(_ file: Data?) throws -> DecodedImage { try ImageDecoder().decode(Array(file ?? Data())) }
}

extension DecodedImage {
  /// Red, green and blue.
  func color(_ x: Int, _ y: Int) -> [UInt8] {
    withPixels { pixels in
      (0..<3).map { pixels.unsafeLoad(fromByteOffset: y * bytesPerRow + x * 4 + $0, as: UInt8.self) }
    }
  }
}
