import Vitrine

/// The reports about a server that its operators read.
protocol OperationsReports: AnyObject, Sendable {
  /// All numbers in the text format of Prometheus.
  func metrics() -> String

  /// The error that prevents changes of the store. Nil if there is none, and for a store that is open for reading only.
  func failure() -> StoreError?

  /// One page for people.
  func statusPage() -> String
}
