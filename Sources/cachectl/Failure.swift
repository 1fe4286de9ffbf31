import Glibc

/// Why a command stopped, with the status it stops with.
struct Failure: Error {
  let message: String
  let status: ExitStatus
  /// Zero where no call to the system failed.
  private let code: CInt

  init(_ message: String, status: ExitStatus = .couldNotRun) {
    self.init(message, status: status, code: 0)
  }

  private init(_ message: String, status: ExitStatus, code: CInt) {
    self.message = message
    self.status = status
    self.code = code
  }

  var isAlreadyThere: Bool { code == EEXIST }

  /// What `errno` says about a call that just failed.
  static func system(_ operation: String, _ path: String) -> Failure {
    let code = errno
    return Failure(
      "\(operation) \(path): \(String(cString: strerror(code)))", status: .couldNotRun, code: code)
  }
}

/// Whoever read our output wants no more of it: a reason to stop, and nothing to complain about.
struct OutputClosed: Error {}
