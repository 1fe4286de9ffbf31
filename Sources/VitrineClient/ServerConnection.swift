import Synchronization

/// A connection to the server. One call uses it at a time; any thread may release values.
final class ServerConnection: Sendable {
  private let socket: LocalSocket
  private let values = Mutex(HeldValues())

  private struct HeldValues {
    /// The number of passed values whose release was not sent.
    var heldCount = 0
    /// The handles that the client has released and not yet sent to the server.
    var released: [UInt64] = []
  }

  /// The most handles that one head releases.
  private static let mostReleases = 256

  init(path: String, _ limit: CallLimit) throws(ClientError) { socket = try LocalSocket(path: path, limit) }

  /// Ends the connection. Values may keep this object alive.
  func end() { socket.end() }

  // MARK: Values

  var hasReleases: Bool { values.withLock { !$0.released.isEmpty } }
  var holdsValues: Bool { values.withLock { $0.heldCount > 0 } }

  func hold() { values.withLock { $0.heldCount += 1 } }
  func release(_ handle: UInt64) { values.withLock { $0.released.append(handle) } }

  private func takeReleases() -> [UInt64] {
    values.withLock { values in
      let taken = Array(values.released.suffix(ServerConnection.mostReleases))
      values.released.removeLast(taken.count)
      values.heldCount -= taken.count
      return taken
    }
  }

  // MARK: Requests

  /// Sends a request, and waits for its answer.
  func exchange(_ request: Request, _ limit: inout CallLimit) throws(Interruption) -> Answer {
    let head = Array(request.head(releasing: takeReleases()).utf8)
    do throws(Interruption) {
      try head.span.bytes.withUnsafeBytes { head throws(Interruption) in try socket.send(head, request.body, &limit) }
    } catch {
      // A server may refuse a request and answer before it has received all of it. The rest of the request is not sent.
      guard let answer = try? receive(request, isLast: true, &limit) else { throw error }
      return answer
    }
    return try receive(request, isLast: false, &limit)
  }

  private func receive(_ request: Request, isLast: Bool, _ limit: inout CallLimit) throws(Interruption) -> Answer {
    var (received, searchedCount, skippedCount): ([UInt8], Int, Int) = ([], 0, 0)
    var isEnd = false
    var (file, lacksDescriptor): (PassedFile?, Bool) = (nil, false)
    do throws(ClientError) {
      while true {
        if let end = headEnd(received, after: &searchedCount) {
          let head = try AnswerHead(received[..<(end - 2)])
          if head.status == 100 {
            received.removeSubrange(..<end)
            (searchedCount, skippedCount) = (0, skippedCount + end)
            continue
          }
          // Made before a step that can fail, so that the client releases the value after a failure.
          let place = try head.place().map { (range: $0.range, lease: Lease($0.handle, of: self)) }
          let count = request.isForHead ? 0 : try head.contentLength()
          let body = try body(count, after: received[end...], &limit)
          return Answer(
            head: head, body: body, place: place, file: file, lacksDescriptor: lacksDescriptor,
            isLast: isLast || head.isLast)
        }
        if skippedCount + searchedCount > AnswerHead.longest { throw .notUnderstood("its head is too long") }
        let more = try socket.receive(&limit)
        if let passed = more.file { file = passed }
        if more.lacksDescriptor { lacksDescriptor = true }
        if more.bytes.isEmpty {
          isEnd = received.isEmpty && skippedCount == 0
          throw .interrupted(reason: "the server closed it")
        }
        received += more.bytes
      }
    } catch {
      throw Interruption(error: error, isEnd: isEnd)
    }
  }

  /// The end of the head; nil if it has not come. Searches behind the bytes that were searched before.
  private func headEnd(_ bytes: [UInt8], after searchedCount: inout Int) -> Int? {
    var index = max(3, searchedCount)
    while index < bytes.count {
      if bytes[index] == 10, bytes[index - 1] == 13, bytes[index - 2] == 10, bytes[index - 3] == 13 { return index + 1 }
      index += 1
    }
    searchedCount = index
    return nil
  }

  private func body(
    _ count: Int, after begun: ArraySlice<UInt8>, _ limit: inout CallLimit
  ) throws(ClientError) -> [UInt8] {
    if begun.count > count { throw .notUnderstood("its body is longer than its Content-Length") }
    var body = Array(begun)
    // Grows with the bytes that come, so that a false length takes no memory.
    while body.count < count {
      let bytes = try socket.receive(most: min(count - body.count, 1 << 20), &limit).bytes
      if bytes.isEmpty { throw .interrupted(reason: "the server closed it within a value") }
      body += bytes
    }
    return body
  }
}

/// The client's right to a value that the server holds for it. Releases it with the last reference.
final class Lease: Sendable {
  private let handle: UInt64
  private let connection: ServerConnection

  init(_ handle: UInt64, of connection: ServerConnection) {
    self.handle = handle
    self.connection = connection
    connection.hold()
  }

  deinit { connection.release(handle) }
}
