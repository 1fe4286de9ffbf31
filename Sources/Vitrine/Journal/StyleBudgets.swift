/// The budgets of styles, as the identity of a store keeps them.
///
/// ```
///   0 u8 number of budgets, then for each, in the order of the styles:
///   0 u8 length of the name   1 u64 bytes (0: no limit)   9 u32 entries (0: no limit)   13 the name
/// ```
package struct StyleBudgets: Sendable, Equatable {
  package struct Entry: Sendable, Equatable {
    package let style: Style
    package let budget: StyleBudget
  }

  /// In the order of the styles.
  package private(set) var list: [Entry] = []

  /// The bytes that the list may take in the identity.
  static let mostBytes = 208
  /// The checkpoint has room for the sums of this many styles.
  package static let most = CheckpointHeader.mostEntrySums - 1
  private static let fixedBytes = 13

  package init() {}

  /// Call with budgets that have no ``problem(of:)``.
  package init(_ budgets: [Style: StyleBudget]) {
    list = budgets.sorted { $0.key < $1.key }.map { Entry(style: $0.key, budget: $0.value) }
  }

  /// Returns the reason why the budgets cannot be kept; nil if they can.
  package static func problem(of budgets: [Style: StyleBudget]) -> String? {
    for (style, budget) in budgets {
      if budget.byteCount == nil && budget.count == nil { return "the budget of style \(style) has no limit" }
      guard budget.byteCount ?? 1 >= 1, (1...Int(UInt32.max)).contains(budget.count ?? 1) else {
        return "the budget of style \(style) must be 1 byte or more, and 1 to \(UInt32.max) entries"
      }
    }
    if budgets.count > most { return "at most \(most) styles have budgets, not \(budgets.count)" }
    let room = mostBytes - 1 - fixedBytes * budgets.count
    let names = budgets.keys.reduce(0) { $0 + $1.bytes.count }
    if names <= room { return nil }
    return "the names of \(budgets.count) styles with budgets have at most \(room) bytes, not \(names)"
  }

  /// Decodes the list. Returns nil if the bytes are not a valid list.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    var reader = ByteReader(bytes)
    guard let count = reader.next(UInt8.self), count <= StyleBudgets.most else { return nil }
    for _ in 0..<count {
      guard let length = reader.next(UInt8.self), let byteCount = reader.next(UInt64.self),
        let entries = reader.next(UInt32.self), byteCount > 0 || entries > 0,
        let name = reader.range(Int(length)), Style.isValid(name)
      else { return nil }
      let style = Style(valid: Array(name), name: String(decoding: name, as: UTF8.self))
      if let last = list.last, last.style >= style { return nil }
      list.append(
        Entry(
          style: style,
          budget: StyleBudget(
            byteCount: byteCount == 0 ? nil : Int(clamping: byteCount), count: entries == 0 ? nil : Int(entries))))
    }
  }

  func encode(into buffer: ByteBuffer) {
    buffer.append(UInt8(list.count))
    for entry in list {
      buffer.append(UInt8(entry.style.bytes.count))
      buffer.append(UInt64(entry.budget.byteCount ?? 0))
      buffer.append(UInt32(entry.budget.count ?? 0))
      buffer.append(entry.style.bytes)
    }
  }

  package var byStyle: [Style: StyleBudget] {
    Dictionary(uniqueKeysWithValues: list.map { ($0.style, $0.budget) })
  }

  /// The tags of the styles. Styles with equal tags share their sums, and the limits of each apply.
  package var tags: [UInt16] { list.map(\.style.tag) }
}
