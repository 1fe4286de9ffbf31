import FuzzSupport

@testable import CacheCtlKit
@testable import Vitrine

/// The texts that the tool makes from keys and metadata: names of files, lines, JSON.
enum EntryTexts {
  static func check(_ key: CacheKey, _ metadata: [UInt8]) {
    checkNames(ExportPath.names(for: key))
    let line = printable(key.url)
    claim(line.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }, "a control character is shown")
    let json = JSON.object(JSON.members(key: key) + [("metadata", .string(String(decoding: metadata, as: UTF8.self)))])
    claim(json.line.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }, "a control character in JSON")
    claim(json.document.hasSuffix("}\n"), "a document of JSON ends early")
    if let type = EntryMetadata.contentType(in: metadata) {
      claim(!type.utf8.contains(0x0A), "a content type of two lines")
      claim(EntryMetadata.contentType(in: EntryMetadata.bytes(contentType: type)) == type, "another content type")
    }
    _ = ContentType.of(name: key.url, bytes: metadata)
  }

  /// No name leads out of its folder.
  private static func checkNames(_ names: [String]) {
    claim(names.count >= 2, "a key without a path")
    for name in names {
      claim((1...255).contains(name.utf8.count) && name != "." && name != "..", "a name such as '\(name)'")
      claim(!name.utf8.contains { $0 == 0x2F || $0 == 0 }, "a name with a slash: '\(name)'")
    }
  }
}
