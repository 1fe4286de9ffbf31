import Foundation
import Vitrine

extension CacheStore {
  /// Stores a `Data` under a URL in text. Costs as much as a put of a span, and throws the same errors.
  public func put(
    _ data: Data, for url: String, style: Style = .original, options: PutOptions = PutOptions()
  ) throws(StoreError) {
    try put(data.bytes, for: url, style: style, options: options)
  }

  /// Stores a `Data` under a whole key. Costs as much as a put of a span, and throws the same errors.
  public func put(_ data: Data, for key: CacheKey, options: PutOptions = PutOptions()) throws(StoreError) {
    try put(data.bytes, for: key, options: options)
  }

  /// Returns a copy of an entry's bytes, or nil on a miss. Costs a get and a copy; `blob(_:style:source:)` with
  /// `Blob.unsafeDataWithoutCopying()` needs no copy.
  public func data(_ url: String, style: Style = .original, source: Source? = nil) -> Data? {
    get(url, style: style, source: source) { span in span.withUnsafeBytes { Data($0) } }
  }

  /// Returns a copy of the bytes of a key's entry, or nil on a miss. Costs a get and a copy.
  public func data(_ key: CacheKey, source: Source? = nil) -> Data? {
    get(key, source: source) { span in span.withUnsafeBytes { Data($0) } }
  }
}

extension AsyncCacheStore {
  /// Stores a `Data`, after a copy into an array. Throws the errors of `CacheStore.put(_:for:options:)`.
  public func put(_ data: Data, for key: CacheKey, options: PutOptions = PutOptions()) async throws(StoreError) {
    try await put(Array(data), for: key, options: options)
  }

  /// Returns a copy of an entry's bytes, or nil on a miss.
  public func data(for key: CacheKey, source: Source? = nil) async -> Data? {
    await get(key, source: source) { span in span.withUnsafeBytes { Data($0) } }
  }
}

extension WriteBatch {
  /// Adds a put of a `Data`, which is copied into an array. The durability in `options` is not used.
  public mutating func put(_ data: Data, for key: CacheKey, options: PutOptions = PutOptions()) {
    put(Array(data), for: key, options: options)
  }
}

extension Blob {
  /// A copy of the bytes. O(bytes).
  public var data: Data { withBytes { span in span.withUnsafeBytes { Data($0) } } }

  /// Returns a `Data` over the bytes of the Blob, without a copy. The `Data`, its copies and its slices keep the Blob
  /// referenced, and so the bytes valid. O(1). Thread-safe.
  ///
  /// The `Data` is for reading. Foundation changes a `Data` in place if nothing else references its memory. If the
  /// Blob's memory is mapped, it is read-only: such a change ends the process by SIGSEGV. If the Blob is a copy
  /// (``Blob/isCopy``), such a change alters the bytes of the Blob. Use ``data`` for a `Data` to change.
  public func unsafeDataWithoutCopying() -> Data {
    withBytes { span in
      span.withUnsafeBytes { bytes in
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return Data() }
        // Each Data has a reference of its own, which its deallocator releases.
        return Data(
          bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: bytes.count,
          deallocator: .custom { _, _ in withExtendedLifetime(self) {} })
      }
    }
  }
}
