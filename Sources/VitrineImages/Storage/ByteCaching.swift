import Foundation
import Vitrine

/// The cache of downloaded data that an image loader uses. With it a `CacheStore` can replace the loader's own
/// cache.
public protocol ByteCaching: Sendable {
  /// Returns the data of a key, or nil if there is none.
  func cachedData(for key: String) -> Data?
  /// Returns whether the key has data.
  func containsData(for key: String) -> Bool
  /// Stores data. Returns immediately, and later reads see the data. If it cannot be stored, the key has no data.
  func storeData(_ data: Data, for key: String)
  /// Removes the data of a key. Returns immediately.
  func removeData(for key: String)
  /// Removes all data. Throws if the removal fails.
  func removeAll() throws
}

/// Keys are URLs in the style `original`. Storing copies the data into the system's memory, which takes some
/// microseconds, and more only if the store is full and must evict. So it needs no queue, which could grow or lose
/// data. It waits for no sync under any durability of the store, since downloads can be repeated.
///
/// If a store can no longer write, because its folder was deleted or its disk failed, it returns no older value of a
/// key after a refused change. With ``StoreOptions/recreatesIfRemoved`` it recreates a deleted folder instead.
extension CacheStore: ByteCaching {
  /// Returns a copy, since loaders keep their data. ``get(_:style:source:_:)`` reads without a copy.
  public func cachedData(for key: String) -> Data? {
    get(key) { bytes in bytes.withUnsafeBytes { Data($0) } }
  }

  /// Returns whether the store has an entry of the style `original`. Costs as much as ``contains(_:style:)``.
  public func containsData(for key: String) -> Bool { contains(key) }

  /// Puts a value, buffered. If the put fails, the key has no value afterwards.
  public func storeData(_ data: Data, for key: String) {
    do {
      try put(data.bytes, for: key, options: PutOptions(durability: .buffered))
    } catch {
      // An older value must not be returned in place of this one.
      removeData(for: key)
      conceal(CacheKey(key))
    }
  }

  /// Removes a value. If the removal fails, reads through this store return nothing for the key.
  public func removeData(for key: String) {
    do { _ = try remove(key) } catch { conceal(CacheKey(key)) }
  }

  /// Removes all values. Afterwards no read returns a value, even if the removal fails. A folder that was deleted or
  /// replaced has no entries left to remove, so it is not an error. Throws other errors of the store.
  public func removeAll() throws {
    do {
      try removeAll(durability: nil)
    } catch StoreError.storeRemoved {
      concealAll()
    } catch {
      concealAll()
      throw error
    }
  }
}
