/// The form in which `cachectl` stores properties of an entry in its metadata.
///
/// Lines of UTF-8, each `name: value` and a line feed; names in lower case. One name is in use: `content-type`.
/// Metadata of other programs in another form is left alone, and has no content type here.
public enum EntryMetadata {
  private static let contentTypeName = "content-type: "

  public static func bytes(contentType: String?) -> [UInt8] {
    guard let contentType else { return [] }
    return Array((contentTypeName + contentType + "\n").utf8)
  }

  public static func contentType(in metadata: [UInt8]) -> String? {
    for line in metadata.split(separator: UInt8(ascii: "\n")) where line.starts(with: contentTypeName.utf8) {
      return String(validating: line.dropFirst(contentTypeName.utf8.count), as: UTF8.self)
    }
    return nil
  }
}
