/// The numbers of entries and bytes by the time since their last use.
public struct AgeHistogram: Sendable {
  public struct Class: Sendable, Equatable {
    /// The lowest age above the class, in seconds; nil for the oldest class.
    public let upperBound: Int?
    public let name: String
    public var entryCount = 0
    public var byteCount = 0
  }

  private static let hour = 3600
  private static let day = 24 * hour

  /// All classes, the youngest first, so that reports of two days can be compared.
  public private(set) var classes: [Class] = [
    Class(upperBound: 60, name: "< 1 minute"), Class(upperBound: 600, name: "< 10 minutes"),
    Class(upperBound: hour, name: "< 1 hour"), Class(upperBound: day, name: "< 1 day"),
    Class(upperBound: 7 * day, name: "< 1 week"), Class(upperBound: 30 * day, name: "< 30 days"),
    Class(upperBound: nil, name: "older"),
  ]
  /// Entries of unknown age.
  public private(set) var unknown = Class(upperBound: nil, name: "unknown")

  public init() {}

  /// `ageMilliseconds` below zero, after a clock was set back, counts as zero.
  public mutating func add(ageMilliseconds: Int64?, byteCount: Int) {
    guard let ageMilliseconds else { return count(byteCount, in: &unknown) }
    let index = classes.firstIndex { $0.upperBound.map { ageMilliseconds / 1000 < Int64($0) } ?? true }
    count(byteCount, in: &classes[index ?? classes.count - 1])
  }

  private func count(_ byteCount: Int, in age: inout Class) {
    age.entryCount += 1
    age.byteCount += byteCount
  }
}
