/// The stores into mappings that have undefined results on a real disk. A store past the end of the file kills the
/// process. On a full disk, a store into a hole may kill it too.
struct MappingMisuse: Sendable {
  /// A sentence for each such store.
  private(set) var texts: [String] = []

  /// Notes a store to a part of the file that is not mapped or has no blocks.
  mutating func check(storeTo range: Range<Int>, of file: LiveFile, _ path: String) {
    if file.memory == nil || range.lowerBound < 0 || range.upperBound > file.byteCount {
      texts.append("store to [\(range.lowerBound), \(range.upperBound)) of \(path), which is not a mapped part of it")
    } else if !FileContent.pageRange(range).allSatisfy(file.content.hasPage) {
      texts.append("store to [\(range.lowerBound), \(range.upperBound)) of \(path), which has no blocks")
    }
  }
}
