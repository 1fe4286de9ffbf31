#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The errno values that the simulated disk reports, by plain names.
package enum ErrorCode {
  package static let alreadyExists = EEXIST
  package static let badDescriptor = EBADF
  package static let directoryNotEmpty = ENOTEMPTY
  package static let fileTooLarge = EFBIG
  package static let inputOutput = EIO
  package static let interrupted = EINTR
  package static let invalidArgument = EINVAL
  package static let isDirectory = EISDIR
  package static let nameTooLong = ENAMETOOLONG
  package static let noMemory = ENOMEM
  package static let noSpace = ENOSPC
  package static let notDirectory = ENOTDIR
  package static let notFound = ENOENT
  package static let permissionDenied = EACCES
  package static let readOnlyFileSystem = EROFS
  package static let tooManyFiles = EMFILE
}
