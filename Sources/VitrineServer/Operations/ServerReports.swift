/// The statistics of a server that clients can request.
protocol ServerReports: AnyObject, Sendable {
  /// Whether clients may remove all items.
  var allowsFlush: Bool { get }

  /// Returns the names and values of a group in their order. Nil is the general group. Returns nil for an unknown
  /// group.
  func statistics(of group: String?) -> [(name: String, value: String)]?

  /// Sets the counters of requests to zero.
  func resetStatistics()
}
