import Foundation
import Vitrine

/// What image loaders ask of the cache of their downloads, so that one of theirs can be exchanged for a ``CacheStore``.
public protocol DataCaching: Sendable {
  /// Nil when there is nothing.
  func cachedData(for key: String) -> Data?
  /// Whether there is a value.
  func containsData(for key: String) -> Bool
  /// Returns at once; from then on, reads see it. What cannot be stored is not there.
  func storeData(_ data: Data, for key: String)
  /// Removes a value. Returns at once.
  func removeData(for key: String)
  /// Removes all values. Throws where the removal fails.
  func removeAll() throws
}

/// Keys are URLs in the style `original`. Storing costs a copy into the system's memory, some microseconds (more only where
/// the store is full and others must go first), so it needs no queue that could grow, or lose what is in it. It waits for
/// no sync, whatever the store's own durability: a cache of downloads can download again.
///
/// A store that can write no more, since its folder was deleted or its disk has failed, gives no older value of a key
/// whose change it has refused. With ``StoreOptions/recreatesIfRemoved`` a deleted folder is made anew instead.
extension CacheStore: DataCaching {
  /// A copy: loaders keep what they are given. Asking ``get(_:style:source:_:)`` costs none.
  public func cachedData(for key: String) -> Data? {
    get(key) { bytes in bytes.withUnsafeBytes { Data($0) } }
  }

  /// Whether the store has an entry of the style `original`. As cheap as ``contains(_:style:)``.
  public func containsData(for key: String) -> Bool { contains(key) }

  /// Puts a value, buffered. Where the put fails, the key has no value afterwards.
  public func storeData(_ data: Data, for key: String) {
    do {
      try put(data.bytes, for: key, options: PutOptions(durability: .buffered))
    } catch {
      // An older value must not be taken for this one.
      removeData(for: key)
      conceal(CacheKey(key))
    }
  }

  /// Removes a value. Where the removal fails, reads of this store give nothing for the key.
  public func removeData(for key: String) {
    do { _ = try remove(key) } catch { conceal(CacheKey(key)) }
  }

  /// In a folder that was deleted or replaced nothing is left to be removed, and no read gives anything afterwards.
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
