import Foundation
import Vitrine

/// A folder of a test, which is deleted when the test releases it.
final class Folder: Sendable {
  let url = FileManager.default.temporaryDirectory.appending(path: "vitrine-foundation-\(UUID().uuidString)")
  var path: String { url.path }

  func open(_ options: StoreOptions = StoreOptions(byteBudget: 4 << 20)) throws -> CacheStore {
    try CacheStore.open(at: path, options: options)
  }

  deinit { try? FileManager.default.removeItem(at: url) }
}
