import Vitrine

/// The segments of a store as bars of live, dead and free bytes, sorted by size.
struct SegmentBars {
  let segments: [StoreStatistics.Segment]

  /// More segments are only counted.
  private static let most = 100

  var html: String {
    let segments = segments.sorted { $0.byteCount > $1.byteCount }
    guard let largest = segments.first?.byteCount, largest > 0 else { return "<p>No segment yet.</p>" }
    let rows = segments.prefix(SegmentBars.most).map { segment in
      let pieces = [
        ("live", segment.liveByteCount), ("dead", segment.deadByteCount), ("free", segment.freeByteCount),
      ].map { "<i class=\"\($0.0)\" style=\"width:\(PageText.percent(PageText.part($0.1, of: largest)))\"></i>" }
      let suffix = ".segment"
      let name = PageText.escaped(
        segment.file.hasSuffix(suffix) ? String(segment.file.dropLast(suffix.utf8.count)) : segment.file)
      return "<tr><td><code>\(name)</code></td><td>\(PageText.escaped(segment.stream))</td>"
        + "<td>\(PageText.bytes(segment.byteCount))</td><td class=\"bar\"><div>\(pieces.joined())</div></td></tr>"
    }
    let rest = segments.count - rows.count
    let legend = ["live", "dead", "free"].map { "<i class=\"key \($0)\"></i>\($0)" }.joined(separator: " ")
    return "<p class=\"legend\">\(legend)</p><div class=\"scroll\"><table class=\"segments\">" + rows.joined()
      + "</table></div>"
      + (rest > 0 ? "<p>and \(PageText.count(rest)) more</p>" : "")
  }
}
