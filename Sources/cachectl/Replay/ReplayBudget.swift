import CacheCtlKit
import Vitrine

/// A byte budget, and the share of a trace's distinct bytes that it is, if it was given as one.
struct ReplayBudget: Equatable {
  let byteCount: Int
  let share: Double?

  /// Parses shares separated by commas: decimal numbers above 0 without sign or exponent. Returns nil for other text.
  static func shares(_ text: String) -> [Double]? {
    let words = text.split(separator: ",", omittingEmptySubsequences: false)
    var shares: [Double] = []
    for word in words {
      guard word.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }),
        let share = Double(word), share > 0, share.isFinite
      else { return nil }
      shares.append(share)
    }
    return shares
  }

  /// The budget that is this share of `distinctByteCount`; at most the largest budget of a store.
  init(share: Double, of distinctByteCount: Int) {
    let product = share * Double(distinctByteCount)
    byteCount = product < Double(StoreOptions.largestByteBudget) ? Int(product) : StoreOptions.largestByteBudget
    self.share = share
  }

  init(byteCount: Int) {
    self.byteCount = min(byteCount, StoreOptions.largestByteBudget)
    share = nil
  }
}
