/// The numbers of a server that a client can ask for.
protocol ServerReports: AnyObject, Sendable {
  /// Whether clients may remove all items.
  var allowsFlush: Bool { get }

  /// Returns names and values of a group, in their order. Without a group, the general ones; nil for an unknown group.
  func statistics(of group: String?) -> [(name: String, value: String)]?

  /// Sets the counters of requests to zero.
  func resetStatistics()
}
