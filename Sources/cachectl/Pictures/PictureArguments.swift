import CacheCtlBase
import CacheCtlKit
import VitrineImages

extension Option {
  static let cache = Option(
    "cache", value: PictureRequest.CachePolicy.byName.map(\.name).joined(separator: "|"),
    "load from the store if fresh (use), always from the network (reload), never from the network (only), "
      + "after asking the server for a change (revalidate), or from the store if the network fails (stale-if-error)")
}

extension Option {
  static let mostPixels = Option(
    "max-pixels", value: "N", "decode no picture of more pixels (120000000); above, memory grows with it")
}

extension PictureRequest.CachePolicy {
  /// The policies by their names on the command line.
  static let byName: [(name: String, policy: PictureRequest.CachePolicy)] = [
    ("use", .use), ("reload", .reload), ("only", .cacheOnly), ("revalidate", .revalidate),
    ("stale-if-error", .staleIfError),
  ]
}

extension Keeping {
  static let byName: [(name: String, keeping: Keeping)] = [
    ("automatic", .automatic), ("original", .original), ("styled", .styled), ("both", .both),
  ]
}

/// Option values of the picture commands.
extension Arguments {
  /// Returns the decoder's limits from `--max-pixels`. A higher limit of pixels raises the limit of memory.
  func decodingLimits(milliseconds: Int = DecodingLimits().milliseconds) throws -> DecodingLimits {
    var limits = DecodingLimits(milliseconds: milliseconds)
    guard let count = try count(.mostPixels) else { return limits }
    guard (1...1_000_000_000).contains(count) else { throw fail("--max-pixels must be 1 to 1000000000") }
    limits.pixelCount = count
    // A progressive JPEG takes 6 bytes a pixel, and its decoded pixels 4.
    limits.byteCount = max(limits.byteCount, count * 10)
    return limits
  }

  /// Returns the styles to draw, or `original` if none is given.
  package func imageStyles(_ option: Option) throws -> [ImageStyle] {
    var styles: [ImageStyle] = []
    for word in values(option) {
      let style: ImageStyle
      do throws(ImageError) {
        style = try ImageStyle(name: String(decoding: word, as: UTF8.self))
      } catch {
        guard case .invalidStyle(_, let reason) = error else { throw error }
        throw fail("--\(option.name): '\(printable(word))' is not a style: \(reason)")
      }
      if case .free = style.shape {
        throw fail("--\(option.name): '\(printable(word))' can only be drawn by the program that it belongs to")
      }
      if styles.contains(style) { throw fail("--\(option.name) \(style) is given twice") }
      styles.append(style)
    }
    return styles.isEmpty ? [.original] : styles
  }

  /// Parses headers of the form `NAME:VALUE`. Each name may occur once.
  func headers(_ option: Option) throws -> [String: String] {
    var headers: [String: String] = [:]
    for word in values(option) {
      let parts = try text(word, "--\(option.name)").split(
        separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      let name = parts.first.map(String.init) ?? ""
      let value = parts.count == 2 ? parts[1].drop { $0 == " " } : ""
      guard parts.count == 2, !name.isEmpty, name.utf8.allSatisfy(Self.isOfToken),
        value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
      else { throw fail("--\(option.name): '\(printable(word))' is not NAME:VALUE") }
      if headers.keys.contains(where: { $0.lowercased() == name.lowercased() }) {
        throw fail("--\(option.name) \(name) is given twice")
      }
      headers[name] = String(value)
    }
    return headers
  }

  /// Whether a byte may occur in the name of a header (RFC 9110, 5.6.2).
  private static func isOfToken(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }

  func choice<Value>(_ option: Option, of names: [(String, Value)]) throws -> Value? {
    guard let word = value(option) else { return nil }
    guard let found = names.first(where: { word.elementsEqual($0.0.utf8) }) else {
      let all = names.map(\.0).joined(separator: ", ")
      throw fail("--\(option.name): '\(printable(word))' is none of \(all)")
    }
    return found.1
  }
}
