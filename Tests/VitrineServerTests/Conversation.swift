import FolderRemoval
import Foundation
import Vitrine

@testable import VitrineServer

/// A store in a temporary folder, with sessions that have no socket.
final class Conversation {
  let folder: String
  let store: CacheStore
  let items: ItemStore
  let counters = Counters()
  let reports = StubReports()
  private(set) var session: MemcachedSession
  private var output = ResponseQueue()
  private let credentials: Credentials?
  private var waiting: [UInt8] = []

  init(largestValue: Int = 1 << 20, byteBudget: Int = 64 << 20, credentials: Credentials? = nil) throws {
    folder = NSTemporaryDirectory() + "vitrine-server-\(UUID().uuidString)"
    store = try CacheStore.open(at: folder, options: StoreOptions(byteBudget: byteBudget))
    items = ItemStore(store, largestValue: largestValue)
    self.credentials = credentials
    session = MemcachedSession(
      items, counters: counters, server: reports, credentials: credentials, output: output)
  }

  deinit {
    try? store.close()
    try? FileManager.default.removeFolderInUse(atPath: folder)
  }

  /// Begins a new connection.
  func reconnect() {
    output = ResponseQueue()
    waiting = []
    session = MemcachedSession(
      items, counters: counters, server: reports, credentials: credentials, output: output)
  }

  /// Sends bytes in pieces, and returns the answers.
  @discardableResult
  func send(_ bytes: [UInt8], pieces: Int = .max) -> [UInt8] {
    session.send(bytes, pieces: pieces, &waiting, output)
  }

  /// Sends a text, and returns the answers. Rounds the remaining times (`t29999`) up to thousands of seconds, so that
  /// the speed of the machine does not matter.
  @discardableResult
  func send(_ text: String, pieces: Int = .max) -> String {
    String(decoding: send(Array(text.utf8), pieces: pieces), as: UTF8.self)
      .replacing(#/ t([0-9]+)/#) { match in " t\((Int(match.1)! + 999) / 1000 * 1000)" }
  }

  /// The number of bytes that were sent and that the session has not taken.
  var waitingByteCount: Int { waiting.count }
}

final class StubReports: ServerReports {
  let allowsFlush: Bool
  init(allowsFlush: Bool = true) { self.allowsFlush = allowsFlush }
  func statistics(of group: String?) -> [(name: String, value: String)]? {
    group == nil ? [("pid", "1")] : group == "settings" ? [] : nil
  }
  func resetStatistics() {}
}
