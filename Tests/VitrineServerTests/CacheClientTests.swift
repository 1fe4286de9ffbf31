import CVitrineSystem
import Foundation
import Glibc
import Synchronization
import Testing
import Vitrine

@testable import VitrineClient
@testable import VitrineServer

/// Clients of a server on this machine, which map large values.
struct CacheClientTests {
  private static func noise(_ count: Int, _ seed: Int = 1) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: (($0 &+ seed) &* 2_654_435_761) >> 11) }
  }

  /// A server of HTTP at a Unix socket.
  private final class LocalServer {
    let path = NSTemporaryDirectory() + "vitrine-\(UUID().uuidString.prefix(8)).sock"
    let web: WebServer

    init(byteBudget: Int = 64 << 20, _ change: (inout ServerOptions) -> Void = { _ in }) throws {
      web = try WebServer(byteBudget: byteBudget) { [path] options in
        options.webAddresses.append(.unix(path: path, mode: 0o600))
        change(&options)
      }
    }

    var store: CacheStore { web.store }
    var pinnedByteCount: Int { store.statistics().pinnedByteCount }
    func client() -> CacheClient { CacheClient(path: path) }
  }

  private func wait(until condition: () throws -> Bool) rethrows {
    while try !condition() { Thread.sleep(forTimeInterval: 0.005) }
  }

  @Test func valueIsReturnedAsItWasPut() throws {
    let server = try LocalServer()
    let client = server.client()
    let keys = [
      CacheKey("https://example.org/ä b?c#d%"), CacheKey("", Style("square/60")!),
      CacheKey(bytes: [0, 255, 47], .original),
    ]
    for (number, key) in keys.enumerated() {
      for count in [0, 1, 16_383, 16_384, 300_000, 3_000_000] {
        let value = Self.noise(count, number)
        #expect(try client.value(key) == nil)
        try client.put(value, for: key, metadata: [0, 10, 255], expirationMilliseconds: 4_000_000_000_000)
        let found = try #require(try client.value(key))
        #expect(found.array == value && found.byteCount == count && found.metadata == [0, 10, 255])
        #expect(found.expirationMilliseconds == 4_000_000_000_000)
        #expect(found.digest == value.withUnsafeBytes { Digest(of: $0) })
        #expect(!found.isDamaged && found.isCopy == (count < PassedValues.leastByteCount))
        #expect(try client.contains(key))
        #expect(try client.remove(key) && !client.remove(key) && !client.contains(key))
      }
    }
  }

  @Test func aMappedValueOutlivesItsEntryAndItsServer() throws {
    let value = Self.noise(200_000)
    var kept: CachedValue?
    do {
      let server = try LocalServer()
      let client = server.client()
      try client.put(value, for: "k")
      kept = try client.value("k")
      try server.store.removeAll()
      for number in 0..<100 { try server.store.put(Self.noise(400_000, number), for: "\(number)") }
      _ = try server.store.compact()
      #expect(kept?.array == value)
    }
    #expect(kept?.isCopy == false && kept?.array == value && kept?.isDamaged == false)
  }

  @Test func heldValuesCountAsPinnedUntilTheyAreReleased() throws {
    let server = try LocalServer()
    let client = server.client()
    try client.put(Self.noise(200_000), for: "k")
    var values = try (0..<600).map { _ in try client.value("k") }
    #expect(values.allSatisfy { $0?.isCopy == false } && server.pinnedByteCount > 0)
    values = []
    // Takes a request for each 256 handles.
    try client.releaseValues()
    #expect(server.pinnedByteCount == 0)
    // Later calls release values, too.
    values = [try client.value("k")]
    values = []
    _ = try client.contains("k")
    #expect(server.pinnedByteCount == 0)
  }

  /// The store lets held values keep segments of an eighth of the budget.
  @Test func valuesBeyondAnEighthOfTheBudgetAreCopied() throws {
    let server = try LocalServer()
    let client = server.client()
    for number in 0..<100 { try client.put(Self.noise(400_000, number), for: "\(number)") }
    let values = try (0..<100).compactMap { try client.value("\($0)") }
    #expect(values.count > 90 && values.contains { $0.isCopy } && values.contains { !$0.isCopy })
    #expect(server.pinnedByteCount <= server.store.byteBudget / 8)
    for value in values { #expect(!value.isDamaged) }
  }

  @Test func theEndOfAClientReleasesItsValues() throws {
    let server = try LocalServer()
    try server.store.put(Self.noise(200_000), for: "k")
    var client: CacheClient? = server.client()
    var value = try client?.value("k")
    #expect(server.pinnedByteCount > 0)
    client = nil
    value = nil
    wait { server.pinnedByteCount == 0 }
    #expect(value == nil && client == nil)
  }

  @Test func severalThreadsUseOneClient() throws {
    let server = try LocalServer()
    let client = server.client()
    let errors = Failures()
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      errors.note {
        for round in 0..<50 {
          let value = Self.noise(10_000 + 10_000 * (round % 4), thread)
          try client.put(value, for: "\(thread)")
          guard try client.value("\(thread)")?.array == value else { throw Failure() }
        }
      }
    }
    #expect(errors.texts == [])
    try client.releaseValues()
    #expect(server.pinnedByteCount == 0)
  }

  private final class Failures: @unchecked Sendable {
    private let lock = NSLock()
    private var found: [String] = []

    var texts: [String] { lock.withLock { found } }

    func note(_ body: () throws -> Void) {
      do { try body() } catch { lock.withLock { found.append("\(error)") } }
    }
  }

  @Test func aRestartedServerIsFoundAgain() throws {
    let path = NSTemporaryDirectory() + "vitrine-\(UUID().uuidString.prefix(8)).sock"
    let web = try WebServer()
    var options = ServerOptions()
    (options.addresses, options.webAddresses) = ([], [.unix(path: path, mode: 0o600)])
    options.stalledMilliseconds = 3_600_000
    let client = CacheClient(path: path)
    #expect(throws: ClientError.self) { try client.contains("k") }
    for round in 0..<3 {
      let server = try CacheServer(web.store, options)
      if round > 0 { #expect(try client.bytes("k") == Self.noise(30_000)) }
      try client.put(Self.noise(30_000), for: "k")
      server.stop()
    }
    #expect(throws: ClientError.self) { try client.contains("k") }
  }

  @Test func clientWithoutPasswordIsRefused() throws {
    let server = try LocalServer { $0.credentials = Credentials(file: "eve:secret\n") }
    #expect(throws: ClientError.refused(status: 401, reason: "a name and a password are needed")) {
      try server.client().value("k")
    }
    let client = CacheClient(path: server.path, name: "eve", password: "secret")
    try client.put([1], for: "k")
    #expect(try client.bytes("k") == [1])
  }

  @Test func refusalsAndLimitsAreErrors() throws {
    let server = try LocalServer { $0.largestValue = 1000 }
    let client = server.client()
    #expect { try client.put(Self.noise(300_000), for: "k") } throws: {
      guard case .refused(status: 413, _) = $0 as? ClientError else { return false }
      return true
    }
    #expect(throws: ClientError.self) { try client.put([1], for: CacheKey("k"), metadata: Self.noise(16_385)) }
    #expect(throws: ClientError.self) { try client.value(String(repeating: "k", count: 8200)) }
    #expect(throws: ClientError.self) { try CacheClient(path: "/no/such/socket").value("k") }
    #expect(throws: ClientError.self) { try CacheClient(path: String(repeating: "/a", count: 100)).value("k") }
    try client.put([2], for: CacheKey("k"), metadata: Self.noise(16_384))
    #expect(try client.value("k")?.metadata == Self.noise(16_384))
  }

  /// A client without a free descriptor asks for this form.
  @Test func answerWithBytesHasAllProperties() throws {
    let server = try LocalServer()
    let value = Self.noise(30_000)
    try server.client().put(value, for: CacheKey("k"), metadata: [1, 2], expirationMilliseconds: 4_000_000_000_000)
    let client = try Client(path: server.path)
    let fields = ["Vitrine-Accept: bytes", "Connection: keep-alive, Vitrine-Accept"]
    try client.send(WebResponse.request("GET", "/v1/original/k", fields, body: nil))
    let answer = try client.response()
    #expect(answer.body == value && answer.fields["vitrine-place"] == nil)
    #expect(answer.fields["vitrine-metadata"] == "AQI=" && answer.fields["vitrine-expires"] == "4000000000000")
  }

  // MARK: The connection

  @Test func aPassedDescriptorIsForReadingOnly() throws {
    let server = try LocalServer()
    let value = Self.noise(100_000)
    try server.store.put(value, for: "k")
    let socket = try LocalSocket(path: server.path, CallLimit(timeoutMilliseconds: 3_600_000))
    let request = Self.request(["Connection: Vitrine-Accept"])
    try send(request, over: socket)
    let answer = try receive(over: socket) { $0.hasSuffix("\r\n\r\n") }
    // An answer without bytes must not be kept by a cache.
    #expect(answer.text.contains("Vitrine-Place: 1 ") && answer.text.contains("\r\nCache-Control: no-store\r\n"))
    let file = try #require(answer.files.first)
    #expect(fcntl(file.descriptor, F_GETFL) & O_ACCMODE == O_RDONLY)
    #expect(fcntl(file.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    #expect(mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0) == MAP_FAILED)
  }

  /// The system counts a passed descriptor against the limit of the server's user until it is received.
  @Test func aClientThatDoesNotReceiveGetsOneDescriptor() throws {
    let server = try LocalServer()
    try server.store.put(Self.noise(20_000), for: "k")
    let socket = try LocalSocket(path: server.path, CallLimit(timeoutMilliseconds: 3_600_000))
    let request = Self.request(["Connection: Vitrine-Accept"])
    try send(Array(repeatElement(request, count: 5).joined()), over: socket)
    let answer = try receive(over: socket) { text in
      let parts = text.split(separator: "\r\n\r\n", omittingEmptySubsequences: false)
      return parts.count == 6 && parts[5].unicodeScalars.count == 20_000
    }
    #expect(answer.files.count == 1 && answer.text.split(separator: "Vitrine-Place").count == 2)
    try send(request, over: socket)
    #expect(try receive(over: socket) { $0.contains("Vitrine-Place: 2 ") }.files.count == 1)
  }

  /// Asks for a descriptor.
  private static func request(_ fields: [String]) -> [UInt8] {
    let lines = ["GET /v1/original/k HTTP/1.1", "Host: a", "Vitrine-Accept: descriptor"] + fields + ["", ""]
    return Array(lines.joined(separator: "\r\n").utf8)
  }

  /// A proxy passes unknown fields of its clients on. It gives `Connection` a value of its own.
  @Test(arguments: [[], ["Connection: keep-alive"], ["Connection: close"]])
  func fieldThatAProxyPassedOnGetsTheBytes(_ fields: [String]) throws {
    let server = try LocalServer()
    let value = Self.noise(20_000)
    try server.client().put(value, for: CacheKey("k"), metadata: [1, 2])
    let client = try Client(path: server.path)
    try client.send(Self.request(fields))
    let answer = try client.response()
    #expect(answer.status == 200 && answer.body == value)
    #expect(answer.fields["vitrine-place"] == nil && answer.fields["vitrine-metadata"] == nil)
  }

  private func send(_ bytes: [UInt8], over socket: LocalSocket) throws {
    var limit = CallLimit(timeoutMilliseconds: 3_600_000)
    try bytes.withUnsafeBytes { try socket.send($0, UnsafeRawBufferPointer(start: nil, count: 0), &limit) }
  }

  private func receive(
    over socket: LocalSocket, until isWhole: (String) -> Bool
  ) throws -> (text: String, files: [PassedFile]) {
    var limit = CallLimit(timeoutMilliseconds: 3_600_000)
    var (text, files): (String, [PassedFile]) = ("", [])
    while !isWhole(text) {
      let received = try socket.receive(&limit)
      try #require(!received.bytes.isEmpty)
      for byte in received.bytes { text.unicodeScalars.append(UnicodeScalar(byte)) }
      if let file = received.file { files.append(file) }
    }
    return (text, files)
  }

  /// A held value refers to the connection that passed it, and that connection serves further calls.
  @Test func heldValuesOfManyThreadsShareConnections() throws {
    let server = try LocalServer()
    let client = server.client()
    try client.put(Self.noise(20_000), for: "k")
    let values = Mutex<[CachedValue]>([])
    let errors = Failures()
    for _ in 0..<20 {
      DispatchQueue.concurrentPerform(iterations: 40) { _ in
        errors.note { if let value = try client.value("k") { values.withLock { $0.append(value) } } }
      }
    }
    let counts = values.withLock { values in (values.count, values.count { $0.isCopy }) }
    #expect(errors.texts == [] && counts == (800, 0))
    let metrics = String(decoding: try server.web.get("/metrics").body, as: UTF8.self)
    let line = metrics.split(separator: "\n").first { $0.hasPrefix("vitrine_connections ") }
    let count = line?.split(separator: " ").last
    #expect(Int(count ?? "") ?? .max <= 41)
  }

  @Test func noDescriptorIsPassedOverTCP() throws {
    let server = try LocalServer()
    let value = Self.noise(100_000)
    try server.store.put(value, for: "k")
    let answer = try server.web.get(
      "/v1/original/k", ["Vitrine-Accept: descriptor", "Connection: Vitrine-Accept"])
    #expect(answer.body == value && answer.fields["vitrine-place"] == nil)
    #expect(try server.web.get("/v1/original/k", ["Vitrine-Release: 1"]).status == 400)
  }

  @Test(arguments: ["x", "1 x", "-1", "99999999999999999999"]) func wrongHandlesAreRefused(_ handles: String) throws {
    let server = try LocalServer()
    let client = try Client(path: server.path)
    try client.send("GET /health HTTP/1.1\r\nHost: a\r\nVitrine-Release: \(handles)\r\n\r\n")
    #expect(try client.response().status == 400)
    try client.send("GET /health HTTP/1.1\r\nHost: a\r\nVitrine-Release: 7 8\r\n\r\n")
    #expect(try client.response().status == 200)
  }

  @Test(arguments: [
    ("Vitrine-Metadata: ***", 400), ("Vitrine-Expires: tomorrow", 400), ("Vitrine-Expires: 1", 201),
    ("Vitrine-Expires: -9223372036854775808", 201),
  ])
  func fieldsOfAChangeAreChecked(_ field: String, _ status: Int) throws {
    let server = try LocalServer()
    let client = try Client(path: server.path)
    try client.send(WebResponse.request("PUT", "/v1/original/k", [field], body: [1, 2]))
    #expect(try client.response().status == status && !server.store.contains("k"))
    try client.send(WebResponse.request("GET", "/health", [], body: nil))
    #expect(try client.response().status == 200)
  }
}
