/// How many entries, and bytes, were last used how long ago.
public struct AgeHistogram: Sendable {
  public struct Class: Sendable, Equatable {
    /// The first age above the class, in seconds; nil for all that is older than the class before.
    public let upperBound: Int?
    public let name: String
    public var entryCount = 0
    public var byteCount = 0
  }

  private static let hour = 3600
  private static let day = 24 * hour

  /// The youngest first; all of them, so that reports of two days can be laid side by side.
  public private(set) var classes: [Class] = [
    Class(upperBound: 60, name: "< 1 minute"), Class(upperBound: 600, name: "< 10 minutes"),
    Class(upperBound: hour, name: "< 1 hour"), Class(upperBound: day, name: "< 1 day"),
    Class(upperBound: 7 * day, name: "< 1 week"), Class(upperBound: 30 * day, name: "< 30 days"),
    Class(upperBound: nil, name: "older"),
  ]
  /// Of which it is not known.
  public private(set) var unknown = Class(upperBound: nil, name: "unknown")

  public init() {}

  /// Milliseconds; an age below zero, of a clock that has been set back, counts as none.
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
