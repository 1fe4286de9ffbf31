import Testing
import Vitrine

@testable import VitrineServer

struct SessionTests {
  /// Valid and invalid requests of each kind.
  private static let script =
    "set a 1 0 5\r\nhello\r\nget a b\r\nappend a 0 0 1\r\n!\r\nget a\r\nnonsense\r\nset b 0 0 2\r\nxyz\r\n"
    + "ms c 3 T0 F9\r\nabc\r\nmg c v f s k Oq\r\nma n N0 J5 v\r\nincr n 3\r\ndelete a\r\nget a c n\r\n"
    + "set d 0 0 1048577\r\n" + String(repeating: "d", count: 1_048_577)
    + "\r\nget d\r\nflush_all\r\nget c\r\nversion\r\n"

  @Test(arguments: [1, 2, 3, 7, 100, 4096, 65536])
  func answersDoNotDependOnHowRequestsAreSplit(pieces: Int) throws {
    let whole = try Conversation().send(Self.script)
    #expect(try Conversation().send(Self.script, pieces: pieces) == whole)
    #expect(whole.hasSuffix("VERSION \(CacheStore.version)\r\n"))
  }

  @Test func aFullQueuePausesARetrieval() throws {
    let client = try Conversation(largestValue: 4 << 20)
    client.send("set a 0 0 2000000\r\n" + String(repeating: "x", count: 2_000_000) + "\r\n")
    let request = Array(("get " + String(repeating: "a ", count: 50) + "\r\n").utf8)
    let output = ResponseQueue()
    let session = MemcachedSession(
      client.items, counters: client.counters, server: client.reports, credentials: nil, output: output)
    var (rest, total, rounds) = (request, 0, 0)
    while !rest.isEmpty || !output.isEmpty {
      rest.removeFirst(rest.withUnsafeBytes { session.consume($0) })
      let bytes = output.takeBytes().count
      #expect(bytes <= (8 << 20) + 2_100_000)
      total += bytes
      rounds += 1
    }
    #expect(rounds > 5)
    #expect(total == 50 * ("VALUE a 0 2000000\r\n".utf8.count + 2_000_002) + 5)
  }

  /// The words of random requests. With real words, more requests are valid.
  private static let words = [
    "get", "gets", "gat", "set", "add", "cas", "append", "prepend", "replace", "incr", "decr", "touch", "delete",
    "stats",
    "flush_all", "mg", "ms", "md", "ma", "me", "mn", "noreply", "a", "b", "k#s", "0", "1", "5", "-1",
    "18446744073709551616",
    "99999999999", "C1", "T30", "N5", "R9", "R-9999999999999999", "T-1", "T9223372036854775807", "v", "t", "c", "q",
    "b", "k", "I", "MA", "Oq", "\r\n", "\r\n", "\r\n", "\n",
    "hello",
    "\r", " ", "", "\u{0}", "ÿ",
  ]

  @Test(arguments: 0..<20)
  func randomRequestsEndTheSessionOrAreAnswered(seed: Int) throws {
    var random = SplitMix(seed: UInt64(seed) &* 0x9E37_79B9)
    let client = try Conversation(largestValue: 1 << 16)
    for _ in 0..<300 {
      var bytes: [UInt8] = []
      for _ in 0..<Int.random(in: 1...30, using: &random) {
        if Int.random(in: 0..<12, using: &random) == 0 {
          bytes.append(UInt8.random(in: 0...255, using: &random))
        } else {
          bytes += Array(Self.words.randomElement(using: &random)!.utf8)
          if Bool.random(using: &random) { bytes.append(0x20) }
        }
      }
      client.send(bytes, pieces: Int.random(in: 1...40, using: &random))
      // At most a line or a key waits, because the session takes values as they arrive.
      #expect(client.waitingByteCount <= MemcachedSession.longestLine)
      if client.session.isEnding { client.reconnect() }
    }
    client.reconnect()
    #expect(client.send("mn\r\n") == "MN\r\n")
    #expect(try client.store.verify().isOK)
  }

  @Test(arguments: 0..<6)
  func randomRequestsGetTheAnswersOfTheModel(seed: Int) throws {
    var random = SplitMix(seed: UInt64(seed) &+ 77)
    let client = try Conversation()
    var model = MemcachedModel()
    for step in 0..<2000 {
      let request = model.randomRequest(using: &random)
      let expected = model.answer(request)
      let answer = client.send(request.text)
      #expect(answer == expected, "seed \(seed), step \(step): \(request.text)")
      if answer != expected { return }
    }
  }
}

/// A random number generator with a seed (SplitMix64).
struct SplitMix: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
