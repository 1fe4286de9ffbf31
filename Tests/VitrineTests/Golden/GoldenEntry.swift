import Vitrine

/// The expected value of one key of a golden store, as a line of words in the store's list. Lists are kept forever,
/// so a word never changes its meaning.
struct GoldenEntry {
  /// The rule that determines the value's bytes.
  enum Rule: String {
    case none, noise, text
    /// A repeated row of 64 bytes: the store does not compress it, and the archive does.
    case rows
  }

  var key: CacheKey
  /// Whether the store must have a value.
  var isThere = true
  var rule = Rule.none
  var count = 0
  var seed = 0
  var metadata: [UInt8] = []
  var expiration: Int64?
  var sliding: Int64?
  var layout: BitmapLayout?
  var source: [UInt8] = []
  var hasNamedSource = false
  var encoding = ""
  var isShared = false
  var written: Int64 = 0

  var bytes: [UInt8] {
    switch rule {
    case .none: return []
    case .noise: return noise(count, UInt64(seed))
    case .text: return text(count, seed)
    case .rows:
      let row = noise(64, UInt64(seed))
      var bytes: [UInt8] = []
      while bytes.count < count { bytes += row }
      return Array(bytes.prefix(count))
    }
  }
}

extension GoldenEntry {
  init(_ url: String, _ style: Style = .original, _ rule: Rule = .none, _ count: Int = 0, _ seed: Int = 0) {
    self.init(key: CacheKey(url, style), rule: rule, count: count, seed: seed)
  }

  /// Returns an entry that must have no value.
  static func gone(_ url: String, _ style: Style = .original) -> GoldenEntry {
    var entry = GoldenEntry(url, style)
    entry.isThere = false
    return entry
  }

  /// Fills in the properties that only the store knows, from its present state.
  func completed(by store: CacheStore) -> GoldenEntry {
    guard isThere, case .found(let info) = store.lookup(key) else { return self }
    var entry = self
    entry.encoding = "\(info.encoding)"
    entry.isShared = info.isShared
    entry.written = info.writtenMilliseconds
    entry.source = info.source?.bytes ?? []
    entry.hasNamedSource = info.hasNamedSource
    return entry
  }

  // MARK: A line

  var line: String {
    let url = "'" + key.urlText
    guard isThere else { return "gone \(url) \(key.style)" }
    var words = ["has", url, key.style.name, rule.rawValue, "\(count)", "\(seed)", "encoding=\(encoding)"]
    words.append("written=\(written)")
    if isShared { words.append("shared") }
    if !metadata.isEmpty { words.append("metadata=\(GoldenEntry.hexadecimal(metadata))") }
    if let expiration { words.append("expires=\(expiration)") }
    if let sliding { words.append("sliding=\(sliding)") }
    if let layout {
      words.append("layout=\(layout.width)x\(layout.height)x\(layout.bytesPerRow)x\(layout.format.rawValue)")
    }
    if !source.isEmpty { words.append("\(hasNamedSource ? "named" : "source")=\(GoldenEntry.hexadecimal(source))") }
    return words.joined(separator: " ")
  }

  /// Returns nil for an invalid line.
  init?(line: Substring) {
    let words = line.split(separator: " ").map(String.init)
    guard words.count >= 3, ["has", "gone"].contains(words[0]), let style = Style(words[2]) else { return nil }
    self.init(key: CacheKey(String(words[1].dropFirst()), style))
    isThere = words[0] == "has"
    guard isThere else { return }
    guard words.count >= 6, let rule = Rule(rawValue: words[3]), let count = Int(words[4]), let seed = Int(words[5])
    else { return nil }
    (self.rule, self.count, self.seed) = (rule, count, seed)
    for word in words[6...] where !take(word) { return nil }
  }

  private mutating func take(_ word: String) -> Bool {
    let parts = word.split(separator: "=").map(String.init)
    let value = parts.count == 2 ? parts[1] : ""
    switch parts[0] {
    case "encoding": encoding = value
    case "written": written = Int64(value) ?? 0
    case "shared": isShared = true
    case "metadata": metadata = hex(value)
    case "expires": expiration = Int64(value)
    case "sliding": sliding = Int64(value)
    case "source": source = hex(value)
    case "named": (source, hasNamedSource) = (hex(value), true)
    case "layout":
      let numbers = value.split(separator: "x").compactMap { Int($0) }
      guard numbers.count == 4, let format = PixelFormat(rawValue: UInt8(numbers[3])) else { return false }
      layout = BitmapLayout(width: numbers[0], height: numbers[1], bytesPerRow: numbers[2], format: format)
    default: return false
    }
    return true
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
