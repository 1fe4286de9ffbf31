import CacheCtlBase
import CacheCtlKit
import Glibc
import VitrineImages

/// An output file for a picture, in the format of its extension.
struct PictureFile {
  let path: [UInt8]
  private let encoding: ImageEncoder.Encoding

  var format: ImageFormat { encoding.format }

  /// Returns nil if the option is not given.
  init?(_ option: Option, _ arguments: Arguments) throws {
    guard let path = arguments.value(option) else { return nil }
    try self.init(path: path, option, arguments)
  }

  init(path: [UInt8], _ option: Option, _ arguments: Arguments) throws {
    self.path = path
    let dot = path.lastIndex(of: UInt8(ascii: "."))
    switch dot.map({ String(decoding: path[($0 + 1)...], as: UTF8.self).lowercased() }) {
    case "png": encoding = .png
    case "jpg", "jpeg": encoding = .jpeg(quality: 0.9)
    case "webp": encoding = .webp(quality: 0.9)
    default: throw arguments.fail("--\(option.name): '\(printable(path))' does not end in .png, .jpg or .webp")
    }
  }

  func write(_ bitmap: Bitmap) throws {
    let bytes: [UInt8]
    do throws(ImageError) {
      bytes = try ImageEncoder.encode(bitmap, as: encoding)
    } catch {
      throw Failure("\(printable(path)): \(error)", status: .problemFound)
    }
    try write(bytes.span.bytes)
  }

  /// Writes bytes that are in the file's format.
  func write(_ bytes: RawSpan) throws {
    let file = try Descriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o666)
    try Output(descriptor: file.raw, name: printable(path)).write(bytes)
  }
}
