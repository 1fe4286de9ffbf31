#if Images
  import VitrineImages

  /// The pictures of the rows in the preheating window. Two rows with the same picture are one wish, which is given up with
  /// the last of them.
  struct WantedRows {
    private struct Wish: Hashable {
      let key: String
      let style: ImageStyle
    }

    private var counts: [Wish: Int] = [:]

    /// Those of `rows` that nobody has asked for yet, in their order.
    mutating func enter(_ rows: [ImageRequest]) -> [ImageRequest] {
      rows.filter { row in
        let wish = Wish(key: row.key, style: row.style)
        counts[wish, default: 0] += 1
        return counts[wish] == 1
      }
    }

    /// Those of `rows` that nobody wants any more.
    mutating func leave(_ rows: [ImageRequest]) -> [ImageRequest] {
      rows.filter { row in
        let wish = Wish(key: row.key, style: row.style)
        guard let count = counts[wish] else { return false }
        counts[wish] = count > 1 ? count - 1 : nil
        return count == 1
      }
    }
  }
#endif
