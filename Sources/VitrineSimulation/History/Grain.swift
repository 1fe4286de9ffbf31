/// The smallest piece of a change that reaches a disk whole.
enum Grain {
  /// Disks write sectors.
  case sector
  /// Processors store aligned words; a page may be written out in the middle of a copy into it.
  case word

  var byteCount: Int {
    switch self {
    case .sector: 512
    case .word: 8
    }
  }

  /// Returns the parts of `range` with kept units, joined where they touch. Units are counted from the start of the
  /// file, as sectors are.
  func keptParts(of range: Range<Int>, keeps: (_ unit: Int) -> Bool) -> [Range<Int>] {
    guard !range.isEmpty else { return [] }
    var parts: [Range<Int>] = []
    for unit in range.lowerBound / byteCount...(range.upperBound - 1) / byteCount where keeps(unit) {
      let part = Swift.max(unit * byteCount, range.lowerBound)..<Swift.min((unit + 1) * byteCount, range.upperBound)
      if let last = parts.last, last.upperBound == part.lowerBound {
        parts[parts.count - 1] = last.lowerBound..<part.upperBound
      } else {
        parts.append(part)
      }
    }
    return parts
  }

  /// Returns the parts of a change that a torn transfer leaves: its beginning, its end, single units, or (of words)
  /// whole pages in any order.
  func tornParts(of range: Range<Int>, seed: UInt64) -> [Range<Int>] {
    guard !range.isEmpty else { return [] }
    let first = range.lowerBound / byteCount
    let unitCount = (range.upperBound - 1) / byteCount - first + 1
    let cut = first + Int(mixed(seed, 1) % UInt64(unitCount + 1))
    switch mixed(seed, 0) % (self == .word ? 4 : 3) {
    case 0: return keptParts(of: range) { $0 < cut }
    case 1: return keptParts(of: range) { $0 >= cut }
    case 2: return keptParts(of: range) { mixed(seed, UInt64($0) &+ 2) & 1 == 0 }
    default:
      let wordsPerPage = Page.byteCount / Grain.word.byteCount
      return keptParts(of: range) { mixed(seed, UInt64($0 / wordsPerPage) &+ 2) & 1 == 0 }
    }
  }
}
