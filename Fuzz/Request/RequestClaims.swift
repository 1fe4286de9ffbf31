import FuzzSupport
import Vitrine

@testable import VitrineServer

/// The claims about a connection whose client sends arbitrary bytes: each step takes bytes or waits for more, and waits
/// with less than its limit; the queue of answers stays bounded; memory is free after the connection; a read-only
/// server changes nothing. Of HTTP, each answer is well-formed, and the answers do not depend on the pieces in which
/// the bytes arrive. Passed values are released with the connection.
struct RequestClaims {
  private let isWeb: Bool
  private let isReadOnly: Bool
  private let passesFiles: Bool
  private let pieceByteCount: Int
  private let bytes: [UInt8]
  /// A connection receives as much at once.
  private static let mostWaiting = 64 << 10

  init(mode: UInt8, bytes: [UInt8]) {
    isWeb = mode & 1 != 0
    isReadOnly = mode & 2 != 0
    passesFiles = mode & 32 != 0
    pieceByteCount = 1 << (1 + 2 * Int(mode >> 2 & 7))
    self.bytes = bytes
  }

  func check() {
    let answers = run(pieces: pieceByteCount)
    guard isWeb else { return }
    let statuses = RequestClaims.statuses(answers)
    let whole = RequestClaims.statuses(run(pieces: RequestClaims.mostWaiting))
    claim(statuses == whole, "pieces of \(pieceByteCount) are answered by \(statuses), and not by \(whole)")
  }

  private func run(pieces: Int) -> [UInt8] {
    let items = ServedStore.shared.items(isReadOnly: isReadOnly)
    let answers = converse(items, pieces: pieces)
    claim(items.memory.usedByteCount == 0 && items.bodies.usedByteCount == 0, "a connection that ended holds memory")
    claim(!passesFiles || items.store.statistics().pinnedByteCount == 0, "a connection that ended holds values")
    if isReadOnly {
      claim(items.store.bytes(ServedStore.key) == ServedStore.value, "a read-only server changed a value")
      claim(items.store.count == 2, "a read-only server stored a value")
    }
    return answers
  }

  private func converse(_ items: ItemStore, pieces: Int) -> [UInt8] {
    let output = ResponseQueue()
    let session = session(items, output)
    var (waiting, answers): ([UInt8], [UInt8]) = ([], [])
    var offset = 0
    while offset < bytes.count, !session.isEnding {
      let end = min(bytes.count, offset + min(pieces, RequestClaims.mostWaiting - waiting.count))
      claim(end > offset, "\(waiting.count) bytes wait, and none is taken")
      waiting += bytes[offset..<end]
      offset = end
      while !session.isEnding {
        let taken = waiting.withUnsafeBytes { session.consume($0) }
        claim((0...waiting.count).contains(taken), "\(taken) of \(waiting.count) bytes are taken")
        waiting.removeFirst(taken)
        let wasFull = output.isFull
        let answer = output.takeBytes()
        claim(answer.count < 32 << 20, "\(answer.count) bytes of answers wait")
        answers += answer
        if taken == 0, !wasFull { break }
      }
    }
    return answers
  }

  private func session(_ items: ItemStore, _ output: ResponseQueue) -> any Session {
    guard isWeb else {
      return MemcachedSession(items, counters: Counters(), server: NoReports(), credentials: nil, output: output)
    }
    let site = HTTPSite(reports: NoReports(), isReadOnly: isReadOnly, credentials: nil, log: nil)
    return HTTPSession(
      items, counters: Counters(), site: site, peer: "", output: output,
      hasReceivedAll: passesFiles ? { true } : nil)
  }

  /// The statuses of the answers. Whether an answer belongs to a HEAD is not known here: its body may be missing.
  private static func statuses(_ answers: [UInt8]) -> [String] {
    var rest = answers[...]
    var statuses: [String] = []
    while !rest.isEmpty {
      claim(rest.starts(with: "HTTP/1.1 ".utf8), "an answer does not begin with its version")
      var lines: [String] = []
      while let end = rest.firstIndex(of: 10), rest[..<end].last == 13 {
        let line = String(decoding: rest[..<end].dropLast(), as: UTF8.self)
        rest = rest[(end + 1)...]
        if line.isEmpty { break }
        claim(!line.contains("\0") && !line.contains("\r"), "a head has a control character")
        lines.append(line)
      }
      claim(!lines.isEmpty, "an answer has no head")
      statuses.append(String(lines[0].dropFirst(9).prefix(3)))
      let length = lines.first { $0.hasPrefix("Content-Length: ") }.flatMap { Int($0.dropFirst(16)) } ?? 0
      claim(length >= 0, "an answer has no length")
      let behind = rest.dropFirst(length)
      if rest.count >= length, behind.isEmpty || behind.starts(with: "HTTP/1.1 ".utf8) { rest = behind }
    }
    return statuses
  }
}
