import Vitrine

/// The path to which `export` writes an entry: one file for each key, always inside the folder.
///
/// The path is the style, then the URL split at its slashes, so that plain names stay as they are:
/// `original/photos/a.jpg`. No name is ever `.`, `..`, empty or longer than 255 bytes. The key can be read back from
/// the path, so two keys never share a file:
///
/// - `%XX` stands for a byte that file systems or shells reserve, and for bytes that are not UTF-8
/// - `%e` is an empty name (two slashes in a row)
/// - a folder's name with an extension ends in `%d`, and a file's name without an extension ends in `%f`, so that the
///   URLs `a` and `a/b` do not collide
/// - a name of more than 240 bytes continues in folders that end in `%c`
/// - a URL of more than 64 such names is in the folder `%l`, as one long name
public enum ExportPath {
  static let longestName = 240
  static let deepestPath = 64

  public static func names(for key: CacheKey) -> [String] {
    folderNames(Array(key.style.name.utf8), mark: "") + names(for: key.url)
  }

  /// Returns the URL of a file that `export` wrote to this path below the folder of its style, or nil for any other
  /// path.
  public static func url(atPath path: [UInt8]) -> [UInt8]? {
    var parts: [[UInt8]] = [[]]
    let names = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let isOneName = names.first.map { Array($0) == Array("%l".utf8) } ?? false
    for (index, name) in names.enumerated() where !isOneName || index > 0 {
      guard let part = unescaped(name) else { return nil }
      parts[parts.count - 1] += part.bytes
      if !part.continues, index + 1 < names.count { parts.append([]) }
    }
    let url = Array(parts.joined(separator: [UInt8(ascii: "/")]))
    // Excludes each spelling that `export` does not write.
    return Array(self.names(for: url).joined(separator: "/").utf8) == path ? url : nil
  }

  /// Returns the bytes that a name stands for, and whether they continue in the next name.
  private static func unescaped(_ name: ArraySlice<UInt8>) -> (bytes: [UInt8], continues: Bool)? {
    var bytes: [UInt8] = []
    var rest = name
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      switch rest.first {
      case UInt8(ascii: "c") where rest.count == 1: return (bytes, true)
      case UInt8(ascii: "e"), UInt8(ascii: "d"), UInt8(ascii: "f"): rest.removeFirst()
      default:
        guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
          return nil
        }
        bytes.append(value)
        rest.removeFirst(2)
      }
    }
    return (bytes, false)
  }

  private static func names(for url: [UInt8]) -> [String] {
    let parts = url.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    if parts.count <= deepestPath {
      var names: [String] = []
      for part in parts.dropLast() { names += folderNames(part, mark: looksLikeFile(part) ? "%d" : "") }
      let last = parts[parts.count - 1]
      names += folderNames(last, mark: looksLikeFile(last) ? "" : "%f")
      if names.count <= deepestPath { return names }
    }
    return ["%l"] + folderNames(url, mark: "")
  }

  /// Returns one part of a URL as names: one, or as many as its length requires.
  private static func folderNames(_ part: some Collection<UInt8>, mark: String) -> [String] {
    if part.isEmpty { return ["%e" + mark] }
    let isText = String(validating: part, as: UTF8.self) != nil
    let name = tokens(part, keepsText: isText)
    if name.reduce(0, { $0 + $1.count }) <= longestName { return [string(name) + mark] }

    var names: [String] = []
    var piece: [[UInt8]] = []
    var length = 0
    for token in tokens(part, keepsText: false) {
      if length + token.count > longestName {
        names.append(string(piece) + "%c")
        piece = []
        length = 0
      }
      piece.append(token)
      length += token.count
    }
    return names + [string(piece) + mark]
  }

  /// Returns the bytes of a name, each as itself or escaped.
  private static func tokens(_ part: some Collection<UInt8>, keepsText: Bool) -> [[UInt8]] {
    let lastIndex = part.count - 1
    return part.enumerated().map { index, byte in
      let isPlain =
        switch byte {
        case 0x80...: keepsText
        case UInt8(ascii: "-"): index != 0
        case UInt8(ascii: " "): index != 0 && index != lastIndex
        case UInt8(ascii: "."): index != lastIndex
        case 0x21..<0x7F: !reserved.contains(byte)
        default: false
        }
      return isPlain ? [byte] : escape(byte)
    }
  }

  private static let reserved = Set(#"%/\<>:"|?*"#.utf8)

  private static func escape(_ byte: UInt8) -> [UInt8] {
    let digits = Array("0123456789ABCDEF".utf8)
    return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }

  private static func string(_ tokens: [[UInt8]]) -> String {
    String(decoding: tokens.joined(), as: UTF8.self)
  }

  /// Whether a dot, which is not the first byte, is followed by 1 to 8 letters or digits.
  private static func looksLikeFile(_ part: some BidirectionalCollection<UInt8>) -> Bool {
    guard let dot = part.lastIndex(of: UInt8(ascii: ".")), dot != part.startIndex else { return false }
    let suffix = part[part.index(after: dot)...]
    return (1...8).contains(suffix.count)
      && suffix.allSatisfy { ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7A || (0x30...0x39).contains($0) }
  }
}
