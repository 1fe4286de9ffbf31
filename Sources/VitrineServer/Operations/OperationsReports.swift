import Vitrine

/// The reports about a server that its operators read.
protocol OperationsReports: AnyObject, Sendable {
  /// All numbers in the text format of Prometheus.
  func metrics() -> String

  /// The error that a change would meet now; nil if the store accepts changes.
  func failure() -> StoreError?

  /// One page for people.
  func statusPage() -> String
}
