import Foundation
import FuzzSupport
import Vitrine

@testable import VitrineServer

/// The store that all inputs share. Each input finds two values in it.
final class ServedStore: Sendable {
  static let shared = ServedStore()

  static let key = CacheKey("k")
  static let value = Array("0123456789".utf8)
  /// Large enough to be passed by its descriptor.
  private static let large = (0..<PassedValues.leastByteCount).map { number in
    UInt8(truncatingIfNeeded: number &* 0x9E37_79B1 >> 13)
  }
  static let largestValue = 1 << 20

  let store: CacheStore

  private init() {
    let folder = NSTemporaryDirectory() + "vitrine-fuzz-request-\(ProcessInfo.processInfo.processIdentifier)"
    try? FileManager.default.removeItem(atPath: folder)
    store = always("the store opens") {
      try CacheStore.open(at: folder, options: StoreOptions(byteBudget: 16 << 20))
    }
    atexit {
      try? ServedStore.shared.store.close()
      try? FileManager.default.removeItem(atPath: ServedStore.shared.store.path)
    }
  }

  /// A server's part that knows no socket, over the store with its values.
  func items(isReadOnly: Bool) -> ItemStore {
    always("a put") {
      try store.removeAll()
      try store.put(
        ServedStore.value, for: ServedStore.key, options: PutOptions(metadata: Array("content-type: a/b\n".utf8)))
      try store.put(ServedStore.large, for: CacheKey("large"))
    }
    return ItemStore(store, largestValue: ServedStore.largestValue, isReadOnly: isReadOnly)
  }
}

final class NoReports: OperationsReports, ServerReports {
  let allowsFlush = true
  func metrics() -> String { "# metrics\n" }
  func failure() -> StoreError? { nil }
  func statusPage() -> String { "<!DOCTYPE html>" }
  func statistics(of group: String?) -> [(name: String, value: String)]? { group == nil ? [("pid", "1")] : nil }
  func resetStatistics() {}
}
