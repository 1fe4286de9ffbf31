import Foundation
import Vitrine

extension VitrineJournaledCache {
  /// An edit of one entry. No other edit of the key begins until it is committed, aborted or released. Thread-safe.
  public final class Editor: Sendable {
    private let cache: VitrineJournaledCache
    /// The key of the entry.
    public let key: String
    private let number: UInt64
    /// The values that the edit has set, by their index.
    private let values = Guarded<[Int: Data]>([:])

    init(cache: VitrineJournaledCache, key: String, number: UInt64) {
      self.cache = cache
      self.key = key
      self.number = number
    }

    deinit { abort() }

    /// Returns a copy of a value as it was last committed, or nil if there is none. Values set by this edit do not
    /// show. `index`: 0 to `valueCount` - 1.
    public func value(_ index: Int) -> Data? {
      precondition((0..<cache.valueCount).contains(index), "there is no value \(index)")
      return cache.value(key, index)
    }

    /// Sets a value, which is seen after the commit. A value that is set twice has the later bytes. O(1): the `Data` is
    /// retained. `index`: 0 to `valueCount` - 1.
    public func set(_ data: Data, at index: Int) {
      precondition((0..<cache.valueCount).contains(index), "there is no value \(index)")
      values.withLock { $0[index] = data }
    }

    /// Sets a value to the UTF-8 bytes of a text.
    public func set(_ text: String, at index: Int) { set(Data(text.utf8), at: index) }

    /// Ends the edit. Replaces together all values that the edit has set. The other values stay. After any crash, all
    /// new values are in the cache or none.
    ///
    /// Takes about as long as a put of the values. After an error, the edit has ended and the entry has its old values.
    /// Throws ``JournaledCacheError/missingValue(index:)`` if the entry is new and not all values are set,
    /// ``JournaledCacheError/editEnded``, and the errors of `CacheStore.write(_:durability:)`.
    public func commit() throws { try cache.commit(key, number, values.withLock { $0 }) }

    /// Ends the edit without a change. Aborting after the end is harmless.
    public func abort() { cache.end(key, number) }
  }

  /// The values of an entry at one moment. They stay readable while the entry is edited or removed, and after the cache
  /// is closed. Thread-safe.
  public struct Snapshot: Sendable {
    private let cache: VitrineJournaledCache
    /// The key of the entry.
    public let key: String
    private let blobs: [Blob]

    init(cache: VitrineJournaledCache, key: String, blobs: [Blob]) {
      self.cache = cache
      self.key = key
      self.blobs = blobs
    }

    /// Returns a value without a copy. `index`: 0 to `valueCount` - 1.
    public func blob(_ index: Int) -> Blob { blobs[index] }

    /// Returns a copy of a value.
    public func data(_ index: Int) -> Data { blobs[index].data }

    /// Returns a value as text, with bytes that are not UTF-8 replaced.
    public func text(_ index: Int) -> String {
      blobs[index].withBytes { span in span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
    }

    /// Number of bytes of a value.
    public func byteCount(_ index: Int) -> Int { blobs[index].byteCount }

    /// Begins an edit of the entry. Returns nil if the entry has changed or was removed since the snapshot was made, or
    /// if another edit of it is in progress. Throws ``JournaledCacheError/closed``.
    public func edit() throws(JournaledCacheError) -> Editor? { try cache.edit(key, only: blobs.map(\.metadata)) }
  }
}
