import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// Loads files of this machine by their `file:` URLs. The validator of a response changes when the file changes. A
/// stored picture from a file is compared with the file at each request.
///
/// Thread-safe. Reads on a separate thread, so a slow disk delays no other load.
struct FileLoader: Sendable {
  private let queue = DispatchQueue(label: "vitrine.loader.files", attributes: .concurrent)
  private static let pieceByteCount = 256 << 10

  /// Loads a regular file, up to its size at the beginning. Throws ``LoadError``, `CancellationError`, and errors of
  /// the receiver.
  func load(_ url: LoadURL, _ request: LoadRequest, _ receiver: any LoadReceiving) async throws {
    guard let path = FileLoader.path(url) else { throw LoadError.invalidURL(request.url) }
    let isCanceled = Locked(false)
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        queue.async {
          continuation.resume(
            with: Result { try FileLoader.read(path, request, receiver) { isCanceled.withLock { $0 } } })
        }
      }
    } onCancel: {
      isCanceled.withLock { $0 = true }
    }
  }

  /// Returns the path of `file:///a`, `file://localhost/a` or `file:/a`, or nil.
  private static func path(_ url: LoadURL) -> String? {
    var rest = url.rest.prefix { $0 != UInt8(ascii: "?") }
    if rest.starts(with: "//".utf8) {
      rest = rest.dropFirst(2)
      let host = String(decoding: rest.prefix { $0 != UInt8(ascii: "/") }, as: UTF8.self).lowercased()
      guard ["", "localhost"].contains(host) else { return nil }
      rest = rest.dropFirst(host.utf8.count)
    }
    let path = LoadURL.decoded(rest)
    guard path.first == UInt8(ascii: "/"), !path.contains(0) else { return nil }
    // A path that is not UTF-8 is refused, because a `String` cannot hold it.
    return String(validating: path, as: UTF8.self)
  }

  private static func read(
    _ path: String, _ request: LoadRequest, _ receiver: any LoadReceiving, _ isCanceled: () -> Bool
  ) throws {
    if isCanceled() { throw CancellationError() }
    // Without O_NONBLOCK, opening a named pipe would wait for its writer.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { throw failure(path, errno) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure(path, errno) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw LoadError.unreadable("'\(path)' is not a regular file") }
    let response = response(status)
    if let tag = response.headers["ETag"], request.headers.contains(where: { isCondition($0, $1, tag) }) {
      return try receiver.begin(LoadResponse(status: 304, headers: response.headers))
    }
    try receiver.begin(response)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceByteCount, alignment: 16)
    defer { buffer.deallocate() }
    var left = Int(status.st_size)
    while left > 0 {
      if isCanceled() { throw CancellationError() }
      let count = systemRead(descriptor, buffer.baseAddress, min(left, buffer.count))
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure(path, errno) }
      // The file became shorter during the load.
      if count == 0 { throw LoadError.interrupted("'\(path)' changed during the load") }
      try receiver.receive(Data(buffer[..<count]))
      left -= count
    }
  }

  private static func isCondition(_ name: String, _ value: String, _ tag: String) -> Bool {
    name.lowercased() == "if-none-match" && value == tag
  }

  private static func response(_ status: stat) -> LoadResponse {
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    let tag = "\"\(status.st_ino)-\(status.st_size)-\(time.tv_sec).\(time.tv_nsec)\""
    return LoadResponse(
      headers: ["ETag": tag, "Cache-Control": "no-cache"], expectedByteCount: Int(status.st_size))
  }

  private static func failure(_ path: String, _ number: Int32) -> LoadError {
    .unreadable("'\(path)': \(String(cString: strerror(number)))")
  }
}

/// The system call `read`, which ``FileLoader/read(_:_:_:_:)`` hides.
private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ byteCount: Int) -> Int {
  read(descriptor, buffer, byteCount)
}
