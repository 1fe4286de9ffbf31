import FolderRemoval
import Foundation
import Vitrine

@testable import VitrineServer

/// A store in a folder of its own, with HTTP connections that have no socket.
final class WebConversation {
  let store: CacheStore
  let items: ItemStore
  let counters = Counters()
  private let folder: String
  private let site: HTTPSite
  private(set) var session: HTTPSession
  private var output = ResponseQueue()
  private var waiting: [UInt8] = []

  init(
    largestValue: Int = 4 << 20, byteBudget: Int = 64 << 20, memoryByteCount: Int = 256 << 20, isReadOnly: Bool = false,
    credentials: Credentials? = nil, reports: StubOperations = StubOperations()
  ) throws {
    folder = NSTemporaryDirectory() + "vitrine-web-\(UUID().uuidString)"
    store = try CacheStore.open(at: folder, options: StoreOptions(byteBudget: byteBudget))
    items = ItemStore(
      store, largestValue: largestValue, memoryByteCount: memoryByteCount, isReadOnly: isReadOnly)
    site = HTTPSite(reports: reports, isReadOnly: isReadOnly, credentials: credentials, log: nil)
    session = HTTPSession(items, counters: counters, site: site, peer: "test", output: output)
  }

  deinit {
    try? store.close()
    try? FileManager.default.removeFolderInUse(atPath: folder)
  }

  /// Begins a new connection.
  func reconnect() {
    output = ResponseQueue()
    waiting = []
    session = HTTPSession(items, counters: counters, site: site, peer: "test", output: output)
  }

  /// Sends bytes in pieces, and returns the answers. Stops when the connection ends.
  func send(_ bytes: [UInt8], pieces: Int = .max) -> [UInt8] {
    // A connection has room for this many bytes that were not taken.
    session.send(bytes, pieces: min(pieces, 64 << 10), &waiting, output)
  }

  /// Sends requests, and returns their answers in order.
  func responses(_ bytes: [UInt8], pieces: Int = .max) -> [WebResponse] {
    WebResponse.all(send(bytes, pieces: pieces), isHead: bytes.starts(with: "HEAD".utf8))
  }

  /// Sends one request of this client, and returns its answer. Begins a new connection if the last one has ended.
  func request(
    _ method: String, _ path: String, _ fields: [String] = [], body: [UInt8]? = nil, pieces: Int = .max
  ) throws -> WebResponse {
    if session.isEnding || session.isWithinRequest { reconnect() }
    let bytes = WebResponse.request(method, path, fields, body: body)
    let all = responses(bytes, pieces: pieces)
    guard all.count == 1 else { throw Failure() }
    return all[0]
  }
}

/// An answer of a server.
struct WebResponse: Equatable {
  let status: Int
  let fields: [String: String]
  let body: [UInt8]

  var text: String { String(decoding: body, as: UTF8.self) }

  static func request(_ method: String, _ path: String, _ fields: [String], body: [UInt8]?) -> [UInt8] {
    let length = body.map { ["Content-Length: \($0.count)"] } ?? []
    let lines = ["\(method) \(path) HTTP/1.1", "Host: test"] + fields + length
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + (body ?? [])
  }

  /// Reads the head of an answer, without the empty line. Returns nil if it is malformed.
  init?(head: String, body: [UInt8] = []) {
    let lines = head.components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ")
    guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else { return nil }
    var fields: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { return nil }
      let name = line[..<colon].lowercased()
      guard fields[name] == nil else { return nil }
      fields[name] = String(line[line.index(after: colon)...].drop { $0 == " " })
    }
    (self.status, self.fields, self.body) = (status, fields, body)
  }

  /// The bytes of the body behind a head.
  func bodyByteCount(isHead: Bool) -> Int {
    isHead || status == 304 ? 0 : Int(fields["content-length"] ?? "0") ?? 0
  }

  /// Reads answers until the bytes end or are malformed. Interim answers are among them.
  static func all(_ bytes: [UInt8], isHead: Bool = false) -> [WebResponse] {
    var rest = bytes[...]
    var responses: [WebResponse] = []
    while let end = rest.firstRange(of: Array("\r\n\r\n".utf8)) {
      guard let response = WebResponse(head: String(decoding: rest[..<end.lowerBound], as: UTF8.self)) else { break }
      let count = response.bodyByteCount(isHead: isHead)
      let body = Array(rest[end.upperBound...].prefix(count))
      responses.append(
        WebResponse(head: String(decoding: rest[..<end.lowerBound], as: UTF8.self), body: body)!)
      rest = rest[end.upperBound...].dropFirst(count)
    }
    return rest.isEmpty ? responses : []
  }
}

final class StubOperations: OperationsReports {
  private let error: StoreError?
  init(_ error: StoreError? = nil) { self.error = error }
  func metrics() -> String { "# metrics\n" }
  func failure() -> StoreError? { error }
  func statusPage() -> String { "<!DOCTYPE html>" }
}

extension Session {
  /// Passes a text to the session in as many steps as it wants, because a session pauses after a while.
  func consume(all text: String) {
    var rest = Array(text.utf8)
    while consume(from: &rest) {}
  }

  /// Passes bytes to the session in pieces, and returns the answers. `waiting` has the bytes that were not taken. Stops
  /// when the connection ends.
  func send(_ bytes: [UInt8], pieces: Int, _ waiting: inout [UInt8], _ output: ResponseQueue) -> [UInt8] {
    var answer: [UInt8] = []
    var rest = bytes[...]
    while !rest.isEmpty, !isEnding {
      let piece = rest.prefix(pieces)
      waiting += piece
      rest = rest.dropFirst(piece.count)
      var goesOn: Bool
      repeat {
        goesOn = consume(from: &waiting)
        answer += output.takeBytes()
      } while goesOn && !isEnding
    }
    return answer
  }

  /// Removes the bytes that the session takes in a step. Returns whether it took any.
  private func consume(from waiting: inout [UInt8]) -> Bool {
    let taken = waiting.withUnsafeBytes { consume($0) }
    waiting.removeFirst(taken)
    return taken > 0
  }
}
