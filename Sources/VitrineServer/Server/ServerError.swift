/// The reason why a server cannot start.
public enum ServerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// An address cannot be used, with the system's reason.
  case address(String, String)
  /// An option has no meaning, or contradicts another.
  case invalidOption(String)
  /// The system refuses another thread, with its reason.
  case noThread(String)
  /// Memory or descriptors are short.
  case noResources(String)

  /// The reason in words.
  public var description: String {
    switch self {
    case .address(let name, let reason): "cannot listen at \(name): \(reason)"
    case .invalidOption(let reason): reason
    case .noThread(let reason): "cannot start a thread: \(reason)"
    case .noResources(let reason): "cannot start: \(reason)"
    }
  }
}
