/// Text as a catalog's interface returns it: records with the same names and other values.
enum JSONRecords {
  private static let words = [
    "linen", "shirt", "blue", "summer", "cotton", "jacket", "classic", "slim", "wool", "black", "dress", "studio",
    "white", "leather", "boots", "oversized", "vintage", "denim", "silk", "organic", "navy", "knit", "straight", "fit",
  ]

  static func fill(_ pool: UnsafeMutableRawBufferPointer) {
    var random = Random(4)
    var used = 0
    while used < pool.count {
      for byte in record(&random).utf8 {
        guard used < pool.count else { return }
        pool[used] = byte
        used += 1
      }
    }
  }

  private static func record(_ random: inout Random) -> String {
    let title = (0..<4).map { _ in words[random.index(words.count)] }.joined(separator: " ")
    let tags = (0..<3).map { _ in "\"\(words[random.index(words.count)])\"" }.joined(separator: ",")
    let id = random.index(100_000_000)
    return """
      {"id":\(id),"title":"\(title)","price":\(random.index(50_000)),"currency":"EUR","available":\(id % 3 == 0),\
      "tags":[\(tags)],"image":"https://images.example.org/catalog/\(String(random.next(), radix: 16)).jpg"},

      """
  }
}
