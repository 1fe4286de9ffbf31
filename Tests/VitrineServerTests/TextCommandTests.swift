import Testing
import Vitrine

@testable import VitrineServer

struct TextCommandTests {
  @Test func aValueIsStoredAndReturnedWithItsFlags() throws {
    let client = try Conversation()
    #expect(client.send("set a 42 0 5\r\nhello\r\n") == "STORED\r\n")
    #expect(client.send("get a\r\n") == "VALUE a 42 5\r\nhello\r\nEND\r\n")
    #expect(client.send("get b a c\r\n") == "VALUE a 42 5\r\nhello\r\nEND\r\n")
    #expect(client.store.bytes("a") == Array("hello".utf8))
  }

  @Test func textAfterTheLastHashNamesAStyle() throws {
    let client = try Conversation()
    client.send(
      "set https://example.org/a.jpg#square-60 0 0 2\r\nsq\r\nset https://example.org/a.jpg#top# 0 0 2\r\nor\r\n")
    #expect(client.store.bytes("https://example.org/a.jpg", style: Style("square-60")!) == Array("sq".utf8))
    #expect(client.store.bytes("https://example.org/a.jpg#top") == Array("or".utf8))
    try client.store.put(Array("library".utf8), for: CacheKey("u", Style("s")!))
    #expect(client.send("get u#s\r\n") == "VALUE u#s 0 7\r\nlibrary\r\nEND\r\n")
  }

  @Test func storageConditionsAreObeyed() throws {
    let client = try Conversation()
    #expect(client.send("replace a 0 0 1\r\nx\r\n") == "NOT_STORED\r\n")
    #expect(client.send("append a 0 0 1\r\nx\r\n") == "NOT_STORED\r\n")
    #expect(client.send("add a 7 0 1\r\nx\r\n") == "STORED\r\n")
    #expect(client.send("add a 0 0 1\r\ny\r\n") == "NOT_STORED\r\n")
    #expect(client.send("append a 9 0 2\r\nyz\r\n") == "STORED\r\n")
    #expect(client.send("prepend a 9 0 1\r\nw\r\n") == "STORED\r\n")
    #expect(client.send("get a\r\n") == "VALUE a 7 4\r\nwxyz\r\nEND\r\n")
    #expect(client.send("replace a 1 0 1\r\nr\r\n") == "STORED\r\n")
    #expect(client.send("get a\r\n") == "VALUE a 1 1\r\nr\r\nEND\r\n")
  }

  @Test func casWithAnOutdatedNumberStoresNothing() throws {
    let client = try Conversation()
    #expect(client.send("cas a 0 0 1 5\r\nx\r\n") == "NOT_FOUND\r\n")
    client.send("set a 0 0 1\r\nx\r\n")
    let unique = try #require(client.unique(of: "a"))
    #expect(client.send("cas a 0 0 1 \(unique + 1)\r\ny\r\n") == "EXISTS\r\n")
    #expect(client.send("cas a 0 0 1 \(unique)\r\nz\r\n") == "STORED\r\n")
    #expect(client.send("cas a 0 0 1 \(unique)\r\nq\r\n") == "EXISTS\r\n")
    #expect(client.send("get a\r\n") == "VALUE a 0 1\r\nz\r\nEND\r\n")
  }

  @Test func uniqueNumbersRiseAcrossRestarts() throws {
    let client = try Conversation()
    client.send("set a 0 0 1\r\nx\r\n")
    let before = try #require(client.unique(of: "a"))
    let later = ItemStore(client.store, largestValue: 1)
    #expect(later.takeUnique() > before)
  }

  @Test func incrementsWrapAroundAndDecrementsStopAtZero() throws {
    let client = try Conversation()
    #expect(client.send("incr n 1\r\n") == "NOT_FOUND\r\n")
    client.send("set n 3 0 20\r\n18446744073709551615\r\n")
    #expect(client.send("incr n 2\r\n") == "1\r\n")
    #expect(client.send("decr n 5\r\n") == "0\r\n")
    #expect(client.send("incr n 12 noreply\r\nget n\r\n") == "VALUE n 3 2\r\n12\r\nEND\r\n")
    #expect(client.send("incr n x\r\n") == "CLIENT_ERROR invalid numeric delta argument\r\n")
    client.send("set t 0 0 2\r\nhi\r\n")
    #expect(client.send("incr t 1\r\n") == "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n")
    client.send("set t 0 0 0\r\n\r\n")
    #expect(client.send("incr t 1\r\n") == "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n")
  }

  @Test func expiredValuesAreMisses() throws {
    let client = try Conversation()
    #expect(client.send("set a 0 -1 1\r\nx\r\n") == "STORED\r\n")
    #expect(client.send("get a\r\n") == "END\r\n")
    #expect(client.send("set a 0 100000 1\r\nx\r\nmg a t\r\n").hasSuffix("HD t100000\r\n"))
    #expect(client.send("touch a 300000\r\nmg a t\r\n") == "TOUCHED\r\nHD t300000\r\n")
    #expect(client.send("gat 0 a\r\nmg a t\r\n") == "VALUE a 0 1\r\nx\r\nEND\r\nHD t-1\r\n")
    #expect(client.send("touch b 300000\r\n") == "NOT_FOUND\r\n")
    #expect(client.send("touch a -1\r\nget a\r\n") == "TOUCHED\r\nEND\r\n")
  }

  @Test func timesBeyondAMonthCountFrom1970() {
    let now: Int64 = 1_800_000_000_500
    #expect(ExpiryTime(seconds: 1, now: now) == .at(1_800_000_001_000))
    #expect(ExpiryTime(seconds: 2_592_000, now: now) == .at(1_802_592_000_000))
    #expect(ExpiryTime(seconds: 2_592_001, now: now) == .past)
    #expect(ExpiryTime(seconds: 1_900_000_000, now: now) == .at(1_900_000_000_000))
    #expect(ExpiryTime(seconds: .max, now: now) == .never)
    #expect(ExpiryTime(seconds: 0, now: now) == .never)
    #expect(ExpiryTime(seconds: -5, now: now) == .past)
  }

  @Test func deleteTellsWhetherAnItemExisted() throws {
    let client = try Conversation()
    client.send("set a 0 0 1\r\nx\r\n")
    #expect(client.send("delete a\r\ndelete a\r\n") == "DELETED\r\nNOT_FOUND\r\n")
    client.send("set a 0 0 1\r\nx\r\n")
    #expect(client.send("delete a 0\r\n") == "DELETED\r\n")
    #expect(client.send("delete a 5\r\n").hasPrefix("CLIENT_ERROR"))
    #expect(client.send("delete a 5 noreply\r\ndelete a 0 noreply\r\n") == "")
  }

  @Test func flushAllRemovesEverythingNowOrLater() throws {
    let client = try Conversation()
    client.send("set a 0 0 1\r\nx\r\n")
    #expect(client.send("flush_all\r\nget a\r\n") == "OK\r\nEND\r\n")
    client.send("set a 0 0 1\r\nx\r\n")
    #expect(client.send("flush_all 100000\r\nget a\r\n") == "OK\r\nVALUE a 0 1\r\nx\r\nEND\r\n")
    client.items.flush(at: 1)
    #expect(client.send("get a\r\n") == "END\r\n")
    #expect(client.send("flush_all x\r\n") == "CLIENT_ERROR invalid exptime argument\r\n")
  }

  @Test func malformedRequestsGetAnErrorAndTheNextOneIsServed() throws {
    let client = try Conversation()
    client.send("set a 0 0 1\r\nx\r\n")
    let found = "VALUE a 0 1\r\nx\r\nEND\r\n"
    #expect(client.send("\r\nget a\r\n") == "ERROR\r\n" + found)
    #expect(client.send("nonsense words\r\nget a\r\n") == "ERROR\r\n" + found)
    #expect(client.send("get\r\nget a\r\n") == "ERROR\r\n" + found)
    #expect(client.send("get \r\nget a\r\n") == "ERROR\r\n" + found)
    #expect(client.send("set a 0 0\r\nget a\r\n") == "ERROR\r\n" + found)
    #expect(client.send("set a x 0 1\r\nget a\r\n") == "CLIENT_ERROR bad command line format\r\n" + found)
    #expect(client.send("set a 4294967296 0 1\r\nget a\r\n") == "CLIENT_ERROR bad command line format\r\n" + found)
    #expect(client.send("set a 0 0 -1\r\nget a\r\n") == "CLIENT_ERROR bad command line format\r\n" + found)
    #expect(client.send("set a 0 0 1\r\nxyz\r\nget a\r\n") == "CLIENT_ERROR bad data chunk\r\nERROR\r\n" + found)
    #expect(
      client.send("get a \(String(repeating: "k", count: 251))\r\n") == "CLIENT_ERROR bad command line format\r\n")
    #expect(client.send("gat x a\r\n") == "CLIENT_ERROR invalid exptime argument\r\n")
    #expect(client.send("verbosity\r\nverbosity 1\r\n") == "ERROR\r\nOK\r\n")
  }

  @Test func aNoreplyRequestGetsNoErrors() throws {
    let client = try Conversation(largestValue: 10)
    client.send("set t 0 0 2\r\nhi\r\n")
    let requests = [
      "set a x 0 1 noreply", "incr t 1 noreply", "incr t x noreply", "touch none 1 noreply", "touch t x noreply",
      "flush_all x noreply", "delete \(String(repeating: "k", count: 251)) noreply", "verbosity 1 noreply",
      "set t 0 0 1 noreply\r\nx\r\n" + "add t 0 0 1 noreply\r\nx", "set a 0 0 1 noreply\r\nxyz",
    ]
    // The last request leaves its line end unread, which is an empty request.
    let answer = client.send(requests.joined(separator: "\r\n") + "\r\nversion\r\n")
    #expect(answer == "ERROR\r\nVERSION \(CacheStore.version)\r\n")
  }

  @Test func onlyALineEndEndsALine() throws {
    let client = try Conversation()
    client.send("set a 0 0 1\r\nx\r\n")
    #expect(client.send("get a\rflush_all\r\n") == "CLIENT_ERROR bad command line format\r\n")
    #expect(client.send("get a\tb\r\n") == "CLIENT_ERROR bad command line format\r\n")
    let long = "get " + String(repeating: "none ", count: 500)
    #expect(
      client.send(long + String(repeating: "k", count: 300), pieces: 100) == "CLIENT_ERROR bad command line format\r\n")
    #expect(client.send(" flush_all\r\nget a\r\n") == "VALUE a 0 1\r\nx\r\nEND\r\n")
    // The two bytes of the line end arrive separately.
    #expect(client.send(long + "a\r") == "VALUE a 0 1\r\nx\r\n")
    #expect(client.send("\nmn\r\n") == "END\r\nMN\r\n")
  }

  @Test func anExpiredValueIsNotKeptInMemory() throws {
    let client = try Conversation(largestValue: 1 << 30)
    client.send("set a 0 -1 500000000\r\n")
    for _ in 0..<50 { client.send([UInt8](repeating: 1, count: 100_000)) }
    #expect(client.items.memory.take(1 << 28) != nil)
    client.reconnect()
    #expect(client.send("get a\r\n") == "END\r\n")
  }

  @Test func arrivingValuesShareTheMemoryBudget() throws {
    let client = try Conversation(largestValue: 1 << 20)
    var shares: [MemoryShare] = []
    while let share = client.items.memory.take(1 << 20) { shares.append(share) }
    #expect(shares.count == 128)
    #expect(client.send("set a 0 0 3\r\nabc\r\n") == "SERVER_ERROR out of memory storing object\r\n")
    shares = []
    #expect(client.send("set a 0 0 3\r\nabc\r\n") == "STORED\r\n")
    // Values that are sent from copies have a budget of their own.
    while let share = client.items.copies.take(1 << 20) { shares.append(share) }
    #expect(client.send("set a 0 0 3\r\nabd\r\n") == "STORED\r\n")
    #expect(client.items.memory.take(1 << 30) != nil)
  }

  /// Only bytes that have arrived are charged.
  @Test func declaredValueTakesNoMemory() throws {
    let client = try Conversation(largestValue: 8 << 20)
    let sessions = (0..<100).map { _ in
      MemcachedSession(
        client.items, counters: client.counters, server: client.reports, credentials: nil, output: ResponseQueue())
    }
    var waiting: [UInt8] = []
    for session in sessions {
      session.send(Array("append k 0 0 8388608\r\n".utf8), pieces: .max, &waiting, session.output)
    }
    #expect(client.items.memory.usedByteCount == 0)
    #expect(client.send("set a 0 0 3\r\nabc\r\n") == "STORED\r\n")
    sessions[0].send([1, 2, 3], pieces: .max, &waiting, sessions[0].output)
    #expect(client.items.memory.usedByteCount == 64 << 10)
    sessions[0].send([UInt8](repeating: 1, count: 100_000), pieces: .max, &waiting, sessions[0].output)
    #expect((100_003...200_000).contains(client.items.memory.usedByteCount))
    withExtendedLifetime(sessions) {}
  }

  @Test func aSetThatFailsWhileItsValueArrivesRemovesTheOldItem() throws {
    let client = try Conversation(largestValue: 8 << 20)
    for count in [3, 2_000_000] {
      #expect(client.send("set a 0 0 3\r\nold\r\n") == "STORED\r\n")
      var shares: [MemoryShare] = []
      while let share = client.items.memory.take(1 << 20) { shares.append(share) }
      // A long value is written to the store while it arrives, and the removal of everything aborts it.
      let value = String(repeating: "n", count: count)
      client.send("set a 0 0 \(count)\r\n\(value.prefix(count / 2))")
      if count > 3 { try client.store.removeAll() }
      let answer = client.send("\(value.suffix(count - count / 2))\r\n")
      #expect(answer == (count == 3 ? "SERVER_ERROR out of memory storing object\r\n" : "NOT_STORED\r\n"))
      #expect(client.send("get a\r\n") == "END\r\n")
      withExtendedLifetime(shares) {}
    }
  }

  /// The item may expire between the read of its value and the read of its expiry.
  @Test func itemThatIsGoneDoesNotComeBackWithoutItsExpiry() throws {
    let client = try Conversation()
    #expect(client.items.keptOptions("gone", ItemRecord(unique: 1)) == nil)
    #expect(client.send("set a 0 100 1\r\n7\r\nincr a 1\r\nappend a 0 0 1\r\n1\r\n") == "STORED\r\n8\r\nSTORED\r\n")
    let options = try #require(client.items.keptOptions("a", ItemRecord(unique: 1)))
    #expect(options.expirationMilliseconds != nil)
  }

  @Test func longAppendDoesNotWaitForRoomThatUploadsHold() throws {
    let client = try Conversation(largestValue: 8 << 20, byteBudget: 32 << 20)
    for (key, count) in [("a", 2_000_000), ("b", 100_000)] {
      let value = String(repeating: "x", count: count)
      #expect(client.send("set \(key) 0 0 \(count)\r\n\(value)\r\n") == "STORED\r\n")
    }
    var shares: [MemoryShare] = []
    while let share = client.items.bodies.take(100_000) { shares.append(share) }
    #expect(client.send("append a 0 0 1\r\ny\r\n") == "SERVER_ERROR out of memory storing object\r\n")
    // A short item needs no room of uploads.
    #expect(client.send("append b 0 0 1\r\ny\r\nprepend b 0 0 1\r\nz\r\n") == "STORED\r\nSTORED\r\n")
    #expect(client.store.bytes("b") == Array("z\(String(repeating: "x", count: 100_000))y".utf8))
    shares = []
    #expect(client.send("append a 0 0 1\r\ny\r\n") == "STORED\r\n")
  }

  /// A value larger than the budget is stored if no other is under way.
  @Test func loneValueMayExceedTheMemoryBudget() throws {
    let budget = MemoryBudget(100_000)
    var collected = CollectedBytes(budget)
    let piece = [UInt8](repeating: 1, count: 1000)
    for number in 0..<200 { try piece.withUnsafeBytes { try collected.append($0, of: (200 - number) * 1000) } }
    #expect(collected.bytes.count == 200_000 && budget.usedByteCount == 200_000)
    #expect(budget.take(1) == nil)
    withExtendedLifetime(collected) {}
  }

  @Test func aChangedItemKeepsItsSlidingExpiry() throws {
    let client = try Conversation()
    let options = PutOptions(slidingExpirationMilliseconds: 3_600_000)
    try client.store.put(Array("7".utf8), for: CacheKey("n"), options: options)
    client.send("incr n 1\r\nappend n 0 0 1\r\n1\r\n")
    guard case .found(let info) = client.store.lookup("n") else { throw Failure() }
    #expect(info.slidingExpirationMilliseconds == 3_600_000)
    #expect(client.store.bytes("n") == Array("81".utf8))
  }

  @Test func aRequestOfAnotherProtocolEndsTheConnection() throws {
    let client = try Conversation()
    #expect(client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") == "")
    #expect(client.session.isEnding)
  }

  @Test func aLongLineThatIsNoRetrievalEndsTheConnection() throws {
    let client = try Conversation()
    #expect(client.send(String(repeating: "x", count: 3000)) == "CLIENT_ERROR line too long\r\n")
    #expect(client.session.isEnding)
  }

  @Test func aRetrievalMayHaveAnyNumberOfKeys() throws {
    let client = try Conversation()
    client.send("set key 0 0 2\r\nhi\r\n")
    let line = "get " + String(repeating: "key nokey ", count: 20_000) + "\r\n"
    let one = "VALUE key 0 2\r\nhi\r\n"
    #expect(client.send(line, pieces: 1000) == String(repeating: one, count: 20_000) + "END\r\n")
    #expect(client.waitingByteCount == 0)
  }

  @Test func aTooLargeValueIsSkippedAndTheOldOneIsRemoved() throws {
    let client = try Conversation(largestValue: 1000)
    client.send("set a 0 0 1\r\nx\r\n")
    let large = String(repeating: "y", count: 1001)
    #expect(
      client.send("set a 0 0 1001\r\n\(large)\r\nget a\r\n") == "SERVER_ERROR object too large for cache\r\nEND\r\n")
    client.send("set a 0 0 1\r\nx\r\n")
    #expect(client.send("add b 0 0 1001\r\n\(large)\r\nget a\r\n").hasSuffix("VALUE a 0 1\r\nx\r\nEND\r\n"))
    #expect(client.send("set c 0 0 1001 noreply\r\n\(large)\r\nget c\r\n") == "END\r\n")
    client.send("set d 0 0 600\r\n\(large.prefix(600))\r\n")
    #expect(
      client.send("append d 0 0 600\r\n\(large.prefix(600))\r\n") == "SERVER_ERROR object too large for cache\r\n")
    #expect(client.send("get d\r\n").hasPrefix("VALUE d 0 600\r\n"))
  }

  @Test func aLongValueGoesToTheStoreWhileItArrives() throws {
    let client = try Conversation(largestValue: 8 << 20)
    var value = [UInt8](repeating: 0, count: 3 << 20)
    for index in value.indices { value[index] = UInt8(truncatingIfNeeded: index &* index >> 7) }
    let request = Array("set big 5 0 \(value.count)\r\n".utf8) + value + Array("\r\n".utf8)
    #expect(client.send(request, pieces: 50_000) == Array("STORED\r\n".utf8))
    #expect(
      client.send(Array("get big\r\n".utf8)) == Array("VALUE big 5 \(value.count)\r\n".utf8) + value
        + Array("\r\nEND\r\n".utf8))
    #expect(
      client.send(Array("add big 5 0 \(value.count)\r\n".utf8) + value + Array("\r\n".utf8), pieces: 50_000)
        == Array("NOT_STORED\r\n".utf8))
    #expect(client.send(Array("append big 5 0 1\r\nx\r\n".utf8)) == Array("STORED\r\n".utf8))
    #expect(client.store.bytes("big") == value + [UInt8(ascii: "x")])
  }

  @Test func anAbandonedLongValueLeavesTheOldOne() throws {
    let client = try Conversation(largestValue: 8 << 20)
    client.send("set big 0 0 3\r\nold\r\n")
    client.send(Array("set big 0 0 3000000\r\n".utf8) + [UInt8](repeating: 1, count: 2_000_000))
    client.reconnect()
    #expect(client.send("get big\r\n") == "VALUE big 0 3\r\nold\r\nEND\r\n")
  }

  @Test func requestsBeforeCredentialsAreRefused() throws {
    let client = try Conversation(credentials: Credentials(file: "ann:secret\nbob:a b\n"))
    #expect(
      client.send("get a\r\nmg a v\r\nversion\r\n") == String(repeating: "CLIENT_ERROR unauthenticated\r\n", count: 3))
    #expect(client.send("set x 0 0 9\r\nann wrong\r\n") == "CLIENT_ERROR authentication failure\r\n")
    #expect(client.send("set x 0 0 7\r\nbob a b\r\nget a\r\n") == "STORED\r\nEND\r\n")
    client.reconnect()
    client.send(String(repeating: "get a\r\n", count: 20))
    #expect(client.session.isEnding)
    #expect(client.store.count == 0)
    #expect(Credentials(file: "") == nil)
    #expect(Credentials(file: "nocolon\n") == nil)
  }

  @Test func anEntryOfTheLibraryHasAUniqueNumberAndKeepsItsMetadata() throws {
    let client = try Conversation()
    try client.store.put(
      Array("v".utf8), for: CacheKey("a"), options: PutOptions(metadata: Array("content-type: image/png\n".utf8)))
    let unique = try #require(client.unique(of: "a"))
    #expect(client.send("cas a 0 0 1 \(unique)\r\nw\r\n") == "STORED\r\n")
    try client.store.put(
      Array("7".utf8), for: CacheKey("n"), options: PutOptions(metadata: Array("content-type: text/plain\n".utf8)))
    #expect(client.send("incr n 1\r\n") == "8\r\n")
    guard case .found(let info) = client.store.lookup("n") else { throw Failure() }
    #expect(String(decoding: info.metadata, as: UTF8.self).hasSuffix("content-type: text/plain\n"))
  }

  @Test func statisticsAreListed() throws {
    let client = try Conversation()
    #expect(client.send("stats\r\n") == "STAT pid 1\r\nEND\r\n")
    #expect(client.send("stats reset\r\n") == "RESET\r\n")
    #expect(client.send("stats nothing\r\n") == "ERROR\r\n")
    #expect(client.send("version\r\n") == "VERSION \(CacheStore.version)\r\n")
  }
}

struct Failure: Error {}

extension Conversation {
  /// The unique number of an item, by `gets`.
  func unique(of key: String) -> UInt64? {
    send("gets \(key)\r\n").split(separator: "\r\n").first?.split(separator: " ").last.flatMap { UInt64($0) }
  }
}
