#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A failed call to the operating system: the operation, its object and the errno.
public struct SystemError: Error, Sendable, Equatable {
  /// The errno.
  public let code: Int32
  /// The operation, such as `"write"`.
  public let operation: String
  /// The file or folder, as far as it is known.
  public let path: String

  package static let missing = ENOENT
  package static let exists = EEXIST
  package static let noMemory = ENOMEM
  package static let ioError = EIO
  package static let badDescriptor = EBADF
  package static let again = EAGAIN
  package static let noPermission = EACCES
  package static let busy = EBUSY
  package static let notAFolder = ENOTDIR
  package static let invalid = EINVAL
  package static let noSpace = ENOSPC
  package static let readOnly = EROFS
  package static let linkLoop = ELOOP

  package init(code: Int32, operation: String, path: String) {
    self.code = code
    self.operation = operation
    self.path = path
  }
}

extension SystemError: CustomStringConvertible {
  public var description: String { "\(operation) \(path): \(errnoText(code)) (errno \(code))" }
}
