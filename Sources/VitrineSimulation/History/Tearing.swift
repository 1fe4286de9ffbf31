/// The smallest piece that reaches a disk whole.
enum Grain {
  /// Disks write sectors.
  static let sector = 512
  /// Processors store aligned words; a page may be written out in the middle of a copy into it.
  static let word = 8
}

/// Returns the parts of `range` with kept units, joined where they touch. Units are counted from the start of the
/// file, as sectors are.
func keptParts(of range: Range<Int>, grain: Int, keeps: (_ unit: Int) -> Bool) -> [Range<Int>] {
  guard !range.isEmpty else { return [] }
  var parts: [Range<Int>] = []
  for unit in range.lowerBound / grain...(range.upperBound - 1) / grain where keeps(unit) {
    let part = Swift.max(unit * grain, range.lowerBound)..<Swift.min((unit + 1) * grain, range.upperBound)
    if let last = parts.last, last.upperBound == part.lowerBound {
      parts[parts.count - 1] = last.lowerBound..<part.upperBound
    } else {
      parts.append(part)
    }
  }
  return parts
}

/// Returns the parts of a write or a store that a torn transfer leaves: its beginning, its end, single units, or
/// (of a store) whole pages in any order.
func tornParts(of range: Range<Int>, isStore: Bool, seed: UInt64) -> [Range<Int>] {
  guard !range.isEmpty else { return [] }
  let grain = isStore ? Grain.word : Grain.sector
  let first = range.lowerBound / grain
  let unitCount = (range.upperBound - 1) / grain - first + 1
  let cut = first + Int(mixed(seed, 1) % UInt64(unitCount + 1))
  switch mixed(seed, 0) % (isStore ? 4 : 3) {
  case 0: return keptParts(of: range, grain: grain) { $0 < cut }
  case 1: return keptParts(of: range, grain: grain) { $0 >= cut }
  case 2: return keptParts(of: range, grain: grain) { mixed(seed, UInt64($0) &+ 2) & 1 == 0 }
  default:
    let wordsPerPage = Page.byteCount / Grain.word
    return keptParts(of: range, grain: grain) { mixed(seed, UInt64($0 / wordsPerPage) &+ 2) & 1 == 0 }
  }
}
