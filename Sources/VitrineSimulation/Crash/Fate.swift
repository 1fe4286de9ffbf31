/// The outcome of one unsynced change. Bytes, length, allocation and name survive independently, because file
/// systems write them at different times.
struct Fate {
  enum Bytes {
    case kept
    case lost
    case torn(UInt64)
    /// Sector by sector, kept where the sector was written out after this change.
    case ofMoments(UInt64, position: UInt64, moments: UInt64)
  }
  enum Length {
    case kept
    case lost
    /// Growth reached some sector between the old and the new length.
    case between(UInt64)
  }

  var bytes: Bytes
  var length: Length
  var keepsAllocation: Bool
  var keepsName: Bool

  static let kept = Fate(bytes: .kept, length: .kept, keepsAllocation: true, keepsName: true)
  static let lost = Fate(bytes: .lost, length: .lost, keepsAllocation: false, keepsName: false)
  static func torn(_ seed: UInt64) -> Fate {
    Fate(bytes: .torn(seed), length: .kept, keepsAllocation: true, keepsName: true)
  }

  /// Returns the parts of the file's `range` that survive.
  func parts(of range: Range<Int>, grain: Grain) -> [Range<Int>] {
    switch bytes {
    case .kept: [range]
    case .lost: []
    case .torn(let seed): grain.tornParts(of: range, seed: seed)
    case .ofMoments(let seed, let position, let moments):
      Grain.sector.keptParts(of: range) { position < mixed(seed, UInt64($0) &+ 1) % moments }
    }
  }

  /// Returns the length that a change from `old` to `new` reaches; nil for the old one. A cut happens completely or
  /// not at all.
  func length(from old: Int, to new: Int, cuts: Bool) -> Int? {
    switch length {
    case .kept: return new
    case .lost: return nil
    case .between(let seed):
      if cuts || new <= old { return new }
      let sectors = (new - old) / Grain.sector.byteCount
      return old + Int(mixed(seed, 5) % UInt64(sectors + 1)) * Grain.sector.byteCount
    }
  }
}
