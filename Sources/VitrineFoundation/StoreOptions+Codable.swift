import Foundation
import Vitrine

/// Coded with the names of the properties as keys. A missing key or null is the default of the property, and unknown
/// keys are ignored. Words stand for the enumerations. `styleBudgets` has the names of styles as keys. These keys stay
/// the same in later versions.
///
/// A decoder checks the range of each number, not the relation of options to each other or to a store. The opening
/// checks those and throws `invalidArgument`.
extension StoreOptions: Codable {
  private enum Key: String, CodingKey {
    case byteBudget, entryBudget, minimumFreeBytes, durability, segmentByteCount, compressionLevel
    case maximumAgeMilliseconds, maximumIdleMilliseconds, policy, verification, reads, isReadOnly, notesUses
    case createsIfMissing, waitForLockMilliseconds, whenLocked, whenUnusable, maximumStylesPerURL, styleBudgets
    case recreatesIfRemoved
  }

  /// Decodes options. Throws `DecodingError` for a value of another type, an unknown word, and a number out of range.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    self.init()
    byteBudget = try values.number(.byteBudget, 1 << 20...Int.max)
    entryBudget = try values.number(.entryBudget, 0...Int.max)
    minimumFreeBytes = try values.number(.minimumFreeBytes, 0...Int.max)
    durability = try values.decodeIfPresent(Durability.self, forKey: .durability)
    segmentByteCount = try values.number(.segmentByteCount, 64 << 10...64 << 20)
    compressionLevel = try values.number(.compressionLevel, 0...19)
    maximumAgeMilliseconds = try values.number(.maximumAgeMilliseconds, 0...Int64.max)
    maximumIdleMilliseconds = try values.number(.maximumIdleMilliseconds, 0...Int64.max)
    policy = try values.decodeIfPresent(EvictionPolicy.self, forKey: .policy)
    verification = try values.decodeIfPresent(Verification.self, forKey: .verification) ?? verification
    reads = try values.decodeIfPresent(ReadMode.self, forKey: .reads) ?? reads
    isReadOnly = try values.decodeIfPresent(Bool.self, forKey: .isReadOnly) ?? isReadOnly
    notesUses = try values.decodeIfPresent(Bool.self, forKey: .notesUses) ?? notesUses
    createsIfMissing = try values.decodeIfPresent(Bool.self, forKey: .createsIfMissing) ?? createsIfMissing
    waitForLockMilliseconds = try values.number(.waitForLockMilliseconds, 0...Int.max) ?? waitForLockMilliseconds
    whenLocked = try values.decodeIfPresent(LockedStorePolicy.self, forKey: .whenLocked) ?? whenLocked
    whenUnusable = try values.decodeIfPresent(UnusableStorePolicy.self, forKey: .whenUnusable) ?? whenUnusable
    maximumStylesPerURL = try values.number(.maximumStylesPerURL, 1...Int.max)
    styleBudgets = try StoreOptions.budgets(values, .styleBudgets)
    recreatesIfRemoved = try values.decodeIfPresent(Bool.self, forKey: .recreatesIfRemoved) ?? recreatesIfRemoved
  }

  private static func budgets(
    _ values: KeyedDecodingContainer<Key>, _ key: Key
  ) throws -> [Style: StyleBudget]? {
    guard let named = try values.decodeIfPresent([String: StyleBudget].self, forKey: key) else { return nil }
    var budgets: [Style: StyleBudget] = [:]
    for (name, budget) in named {
      guard let style = Style(name) else {
        throw DecodingError.dataCorruptedError(
          forKey: key, in: values, debugDescription: "'\(name)' is not the name of a style")
      }
      budgets[style] = budget
    }
    return budgets
  }

  /// Encodes each option that is not nil. Options with a default value are always encoded.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encodeIfPresent(byteBudget, forKey: .byteBudget)
    try values.encodeIfPresent(entryBudget, forKey: .entryBudget)
    try values.encodeIfPresent(minimumFreeBytes, forKey: .minimumFreeBytes)
    try values.encodeIfPresent(durability, forKey: .durability)
    try values.encodeIfPresent(segmentByteCount, forKey: .segmentByteCount)
    try values.encodeIfPresent(compressionLevel, forKey: .compressionLevel)
    try values.encodeIfPresent(maximumAgeMilliseconds, forKey: .maximumAgeMilliseconds)
    try values.encodeIfPresent(maximumIdleMilliseconds, forKey: .maximumIdleMilliseconds)
    try values.encodeIfPresent(policy, forKey: .policy)
    try values.encode(verification, forKey: .verification)
    try values.encode(reads, forKey: .reads)
    try values.encode(isReadOnly, forKey: .isReadOnly)
    try values.encode(notesUses, forKey: .notesUses)
    try values.encode(createsIfMissing, forKey: .createsIfMissing)
    try values.encode(waitForLockMilliseconds, forKey: .waitForLockMilliseconds)
    try values.encode(whenLocked, forKey: .whenLocked)
    try values.encode(whenUnusable, forKey: .whenUnusable)
    try values.encodeIfPresent(maximumStylesPerURL, forKey: .maximumStylesPerURL)
    try values.encodeIfPresent(
      styleBudgets.map { Dictionary(uniqueKeysWithValues: $0.map { ($0.name, $1) }) }, forKey: .styleBudgets)
    try values.encode(recreatesIfRemoved, forKey: .recreatesIfRemoved)
  }
}
