/// The worst allowed effect of a misfortune; each includes the ones before it.
package enum Harm: Comparable {
  /// No acknowledged entry is missing.
  case none
  /// The disk returned nothing or nonsense for a moment: entries may be missing.
  case entriesMayMiss
  /// The disk returned an earlier content: entries may be older than they were.
  case entriesMayBeOlder
  /// The content of the disk is wrong for good. `verify` may report it.
  case pagesAreWrong
}
