import Foundation
import Vitrine
import VitrineDataCache
import VitrineDiskStorage
import VitrineFoundation
import VitrineJournaledCache
import VitrineURLCache

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// The examples of Docs/Adapters.md, word for word, so that they compile as long as the adapters do.
// `ExampleTests` compares the two; the functions around them are never called.

private func foundation(store: CacheStore, url: URL, jpeg: Data) throws {
  try store.put(jpeg, for: url, options: PutOptions(expiresAfter: .seconds(3600)))
  let copy = store.data(url)  // the same as store[url]
  let mapped = store.blob(url)?.unsafeDataWithoutCopying()  // for reading only: it lies in the mapped file
  for entry in store.entries(prefix: "https://example.org/") { print(entry.key.urlText, entry.lastUsed ?? "never") }
  let options = try JSONDecoder().decode(StoreOptions.self, from: Data(#"{"byteBudget": 104857600}"#.utf8))
  let json = try store.statistics().json(isPretty: true)

  _ = (copy, mapped, options, json)
}

private func dataCache(folder: String, jpeg: Data) throws {
  let cache = try VitrineDataCache(path: folder, sizeLimit: 150 << 20)
  cache.storeData(jpeg, for: "https://example.org/a.jpg")  // returns at once
  let data = cache.cachedData(for: "https://example.org/a.jpg")  // sees the queued value
  cache.flush()  // before the program ends

  _ = data
}

private func diskStorage(folder: String, jpeg: Data) throws {
  let storage = try VitrineDiskStorage(path: folder, sizeLimit: 200 << 20, expiration: .days(7))
  try storage.store(value: jpeg, forKey: "a", expiration: .seconds(3600))
  let data = storage.value(forKey: "a", extendingExpiration: .cacheTime)  // an hour from now on
  let removed = try storage.removeExpiredValues()

  _ = (data, removed)
}

private func journaledCache(folder: String, jpeg: Data) throws {
  let cache = try VitrineJournaledCache(path: folder, appVersion: 1, valueCount: 2, maxSize: 50 << 20)
  if let editor = try cache.edit("a1b2") {  // nil while another edit of the key is in progress
    editor.set(jpeg, at: 0)
    editor.set("image/jpeg", at: 1)
    try editor.commit()  // both values or none
  }
  if let snapshot = try cache.snapshot("a1b2") {
    print(snapshot.byteCount(0), snapshot.text(1))
  }
}

private func urlCache(folder: String) throws {
  let configuration = URLSessionConfiguration.default
  configuration.urlCache = try VitrineURLCache(path: folder, diskCapacity: 100 << 20)
  let session = URLSession(configuration: configuration)

  _ = session
}
