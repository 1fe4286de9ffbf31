import Foundation
import PictureFiles
import Vitrine

@testable import VitrineImages

/// Pictures in files without a format, so that another program can draw the same and compare, as `scripts/similarity`
/// does.
///
/// The folder has a file `list` with a line of words, separated by spaces, for each picture: a file of straight RGBA
/// pixels, its width and height, `alpha` or `opaque`, the orientation it is stored in, a kernel, a style's name, and
/// the output file. The output file gets the bitmap's rows without padding. A file with the additional suffix `.size`
/// gets the width and height.
struct RawPictures {
  let folder: URL

  func run() throws {
    for line in try String(contentsOf: folder.appending(path: "list"), encoding: .utf8).split(separator: "\n") {
      try draw(line.split(separator: " ").map(String.init))
    }
  }

  struct BadLine: Error { let words: [String] }

  private func draw(_ words: [String]) throws {
    guard words.count == 8, let width = Int(words[1]), let height = Int(words[2]), let exif = Int(words[4]) else {
      throw BadLine(words: words)
    }
    let pixels = try Data(contentsOf: folder.appending(path: words[0]))
    let size = PixelSize(width: width, height: height)
    var renderer = try StyleRenderer(
      try ImageStyle(name: words[6]), picture: size, orientation: Orientation(exif: exif))
    guard let kernel = ResamplingKernel.allCases.first(where: { "\($0)" == words[5] }) else {
      throw BadLine(words: words)
    }
    renderer.kernel = kernel
    let bitmap = try Bitmap(layout: renderer.layout) { memory in
      try renderer.draw(
        PixelRows(pixels.bytes, width: width, height: height, bytesPerRow: width * 4, hasAlpha: words[3] == "alpha"),
        into: &memory)
    }
    var packed = Data()
    let layout = bitmap.layout
    bitmap.withPixels { bytes in
      bytes.withUnsafeBytes { bytes in
        for y in 0..<layout.height {
          let start = y * layout.bytesPerRow
          packed.append(contentsOf: bytes[start..<start + layout.width * layout.format.bytesPerPixel])
        }
      }
    }
    try packed.write(to: folder.appending(path: words[7]))
    try Data("\(layout.width) \(layout.height)".utf8).write(to: folder.appending(path: words[7] + ".size"))
  }
}
