import Vitrine

/// The keys of a store with killed writers. Each thread has keys of its own, so that their order is known, and all
/// share a few.
enum KillKeys {
  static let threads = 4
  private static let sharedCount = 12
  /// The number for each thread. Values larger than a segment have two keys, so that all live values fit well into
  /// a budget.
  private static let singles = 24
  private static let large = 2
  private static let rows = 8
  private static let families = 4
  private static let perThread = singles + large + rows + 3 * families

  static let count = threads * perThread + sharedCount
  static let all = (0..<count).map(key)
  static let numbers = Dictionary(uniqueKeysWithValues: all.enumerated().map { ($1, $0) })
  static let shared = Array(threads * perThread..<count)

  private static let derived = [Style("square-60")!, Style("square-60@2x")!]

  /// The keys of one thread.
  struct Own {
    let thread: Int
    private var first: Int { thread * perThread }

    var all: [Int] { Array(first..<first + perThread) }
    /// Originals of their own URLs.
    var singles: [Int] { Array(first..<first + KillKeys.singles) }
    var large: [Int] { Array((first + KillKeys.singles)..<(first + KillKeys.singles + KillKeys.large)) }
    /// Keys of one style that no other thread uses.
    var rows: [Int] {
      let start = first + KillKeys.singles + KillKeys.large
      return Array(start..<start + KillKeys.rows)
    }
    /// Originals with the styles made from them, of one URL each.
    var families: [[Int]] {
      let start = first + perThread - 3 * KillKeys.families
      return (0..<KillKeys.families).map { [start + 3 * $0, start + 3 * $0 + 1, start + 3 * $0 + 2] }
    }

    var style: Style { KillKeys.style(thread) }
    /// The common beginning of the URLs of `singles`, and of no others.
    var prefix: String { "\(thread)/single/" }
  }

  static func isLarge(_ number: Int) -> Bool {
    number < threads * perThread && Own(thread: number / perThread).large.contains(number)
  }

  /// Whether its value was made from an original, whose change removes it.
  static func isDerived(_ number: Int) -> Bool { all[number].style == derived[0] || all[number].style == derived[1] }

  private static func style(_ thread: Int) -> Style { Style("row-\(thread)")! }

  private static func key(_ number: Int) -> CacheKey {
    let (thread, place) = number.quotientAndRemainder(dividingBy: perThread)
    if thread == threads { return CacheKey("shared/\(place)") }
    switch place {
    case ..<singles: return CacheKey("\(thread)/single/\(place)")
    case ..<(singles + large): return CacheKey("\(thread)/large/\(place)")
    case ..<(singles + large + rows): return CacheKey("\(thread)/row/\(place)", style(thread))
    default:
      let (family, member) = (place - singles - large - rows).quotientAndRemainder(dividingBy: 3)
      return CacheKey("\(thread)/family/\(family)", member == 0 ? .original : derived[member - 1])
    }
  }
}
