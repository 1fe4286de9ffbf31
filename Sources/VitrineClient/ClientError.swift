import Vitrine

/// An error of a ``CacheClient``.
public enum ClientError: Error, Sendable, Hashable, CustomStringConvertible {
  /// No server listens at the path, or it cannot be reached. The text is the system's reason.
  case unreachable(path: String, reason: String)
  /// The connection ended before the answer, or the server did not answer in time. A change may have been made.
  case interrupted(reason: String)
  /// The bytes of the answer are not those of a cache server.
  case notUnderstood(String)
  /// The server refused the request: the status of its answer, and its text.
  case refused(status: Int, reason: String)
  /// An argument is outside its limits.
  case invalidArgument(String)
  /// The system is out of memory or descriptors.
  case noResources(String)

  /// A sentence about the error.
  public var description: String {
    switch self {
    case .unreachable(let path, let reason): "no cache server is reached at \(path): \(reason)"
    case .interrupted(let reason): "the connection to the cache server ended: \(reason)"
    case .notUnderstood(let reason): "the answer of the cache server is malformed: \(reason)"
    case .refused(let status, let reason): "the cache server refused the request (\(status)): \(reason)"
    case .invalidArgument(let reason): reason
    case .noResources(let reason): "the system is out of resources: \(reason)"
    }
  }
}
