import Foundation
import Testing
import Vitrine
import VitrineServer

/// Several processes use the store of one server, and map its values.
@Suite struct ClientProcessTests {
  let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private var socket: String { "\(folder.path)/http" }

  private func serve(_ store: CacheStore) throws -> CacheServer {
    var options = ServerOptions()
    (options.addresses, options.webAddresses) = ([], [.unix(path: socket, mode: 0o600)])
    options.stalledMilliseconds = 3_600_000
    return try CacheServer(store, options)
  }

  private func client() throws -> StoreProcess {
    let process = try StoreProcess()
    #expect(try process.ask("client \(socket)") == "done")
    return process
  }

  @Test func eightProcessesShareOneStore() throws {
    let store = try CacheStore.open(at: folder.store, options: StoreOptions(byteBudget: 64 << 20))
    let server = try serve(store)
    let processes = try (0..<8).map { _ in try client() }
    for (number, process) in processes.enumerated() { try process.send("work \(number) 200") }
    let answers = processes.map { $0.line() }
    #expect(answers.allSatisfy { Int($0) ?? 0 > 0 }, "\(answers)")
    for process in processes { #expect(try process.ask("drop") == "done") }
    #expect(store.statistics().pinnedByteCount == 0)
    #expect(try store.verify().isOK)
    server.stop()
    try store.close()
  }

  /// The end of the process closes its connections, so the server releases the values that it held.
  @Test func aKilledProcessReleasesItsValues() throws {
    let store = try CacheStore.open(at: folder.store, options: StoreOptions(byteBudget: 64 << 20))
    let server = try serve(store)
    let process = try client()
    #expect(try process.ask("fill k 20") == "done")
    #expect(try Int(process.ask("hold k 20")) ?? 0 > 0)
    #expect(store.statistics().pinnedByteCount > 0)
    process.kill()
    while store.statistics().pinnedByteCount > 0 { Thread.sleep(forTimeInterval: 0.005) }
    server.stop()
    try store.close()
  }

  /// The guard of the client puts zeros in place of the missing pages. A process in which this has happened trusts no
  /// mapping any more, so the test does not read the file itself.
  @Test func truncatedFileIsDamageAndNoSignal() throws {
    let store = try CacheStore.open(at: folder.store, options: StoreOptions(byteBudget: 64 << 20))
    let server = try serve(store)
    let process = try client()
    #expect(try process.ask("fill k 5") == "done")
    #expect(try Int(process.ask("hold k 5")) ?? 0 > 0)
    server.stop()
    try store.close()
    #expect(try process.ask("intact") == "done")
    let segments = folder.store + "/segments"
    for name in try FileManager.default.contentsOfDirectory(atPath: segments) {
      #expect(truncate("\(segments)/\(name)", 0) == 0)
    }
    #expect(try process.ask("intact") == "wrong")
    #expect(try process.ask("drop") == "done")
  }

  /// A later server may remove the entries and their segments. The process has the pages mapped.
  @Test func valuesOfAnEarlierServerStayAsTheyWere() throws {
    let process = try client()
    var store = try CacheStore.open(at: folder.store, options: StoreOptions(byteBudget: 8 << 20))
    var server = try serve(store)
    #expect(try process.ask("fill k 40") == "done")
    #expect(try Int(process.ask("hold k 40")) ?? 0 > 0)
    for round in 0..<3 {
      server.stop()
      try store.close()
      store = try CacheStore.open(at: folder.store, options: StoreOptions(byteBudget: 8 << 20))
      server = try serve(store)
      #expect(try process.ask("intact") == "done")
      for index in 0..<200 { try store.put([UInt8](repeating: UInt8(round), count: 60_000), for: "\(round)/\(index)") }
      try store.removeAll()
      try store.compact()
      try store.idle()
      #expect(try process.ask("intact") == "done")
    }
    #expect(try process.ask("drop") == "done")
    server.stop()
    try store.close()
  }
}
