import Glibc

/// The reason why a command stopped, with its exit status.
package struct Failure: Error {
  package let message: String
  package let status: ExitStatus
  /// Zero if no system call failed.
  private let code: CInt

  package init(_ message: String, status: ExitStatus = .couldNotRun) {
    self.init(message, status: status, code: 0)
  }

  private init(_ message: String, status: ExitStatus, code: CInt) {
    self.message = message
    self.status = status
    self.code = code
  }

  package var isAlreadyThere: Bool { code == EEXIST }

  /// Describes the `errno` of a call that just failed.
  package static func system(_ operation: String, _ path: String) -> Failure {
    let code = errno
    return Failure(
      "\(operation) \(path): \(String(cString: strerror(code)))", status: .couldNotRun, code: code)
  }
}

/// The reader of the output has closed it: a reason to stop without an error message.
package struct OutputClosed: Error {}
