/// A call to the operating system that failed: which one, on what, with which errno.
public struct SystemError: Error, Sendable, Equatable {
  /// The errno.
  public let code: Int32
  /// What was being done, such as `"write"`.
  public let operation: String
  /// The file or folder concerned, as far as it is known.
  public let path: String

  package static let missing: Int32 = 2
  package static let exists: Int32 = 17
  package static let noMemory: Int32 = 12

  package init(code: Int32, operation: String, path: String) {
    self.code = code
    self.operation = operation
    self.path = path
  }
}

extension SystemError: CustomStringConvertible {
  public var description: String { "\(operation) \(path): \(errnoText(code)) (errno \(code))" }
}
