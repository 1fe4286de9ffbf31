/// The reason why a server cannot start.
public enum ServerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// An address cannot be used: its name, and the reason of the system.
  case address(String, String)
  /// An option has no meaning, or contradicts another.
  case invalidOption(String)
  /// The system refuses to start a thread, for this reason.
  case noThread(String)
  /// The file of the log cannot be opened, with the system's reason.
  case log(String, String)
  /// Memory or descriptors are short.
  case noResources(String)

  /// The reason in words.
  public var description: String {
    switch self {
    case .address(let name, let reason): "cannot listen at \(name): \(reason)"
    case .invalidOption(let reason): reason
    case .noThread(let reason): "cannot start a thread: \(reason)"
    case .log(let path, let reason): "cannot write the log \(path): \(reason)"
    case .noResources(let reason): "cannot start: \(reason)"
    }
  }
}
