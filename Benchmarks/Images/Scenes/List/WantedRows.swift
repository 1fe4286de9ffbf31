import VitrineImages

/// The pictures of the rows in the preheating window. Two rows with the same picture are one request, which is
/// canceled with the last of them.
struct WantedRows {
  private struct Wish: Hashable {
    let key: String
    let style: ImageStyle
  }

  private var counts: [Wish: Int] = [:]

  /// Returns those of `rows` that no row has requested yet, in their order.
  mutating func enter(_ rows: [PictureRequest]) -> [PictureRequest] {
    rows.filter { row in
      let wish = Wish(key: row.key, style: row.style)
      counts[wish, default: 0] += 1
      return counts[wish] == 1
    }
  }

  /// Returns those of `rows` that no row needs any more.
  mutating func leave(_ rows: [PictureRequest]) -> [PictureRequest] {
    rows.filter { row in
      let wish = Wish(key: row.key, style: row.style)
      guard let count = counts[wish] else { return false }
      counts[wish] = count > 1 ? count - 1 : nil
      return count == 1
    }
  }
}
