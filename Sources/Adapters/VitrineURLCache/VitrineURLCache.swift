import Foundation
import Vitrine
import VitrineFoundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// Invariant: all stored properties of this class are constants and Sendable. Those of `URLCache` are set only by the
// initializer, because all its members that change them are overridden.
/// A `URLCache` that keeps its responses in a `CacheStore`, for `URLSession` and other users of Foundation.
///
/// Set it as the `urlCache` of a `URLSessionConfiguration`. A response is the entry of its URL without the fragment, in
/// the style `original`: the data are the value, and the URL, the status and the header fields are the metadata. The
/// `userInfo` of a response is not kept. Only responses to GET are cached, and no partial ones. An error of the store
/// is not reported: the response is then not cached. Thread-safe.
public final class VitrineURLCache: URLCache, @unchecked Sendable {
  /// The store with the responses.
  public let store: CacheStore
  private let memory: MemoryResponses

  /// Opens the cache in a folder, and creates it if there is none.
  ///
  /// - Parameters:
  ///   - path: The folder. Its parent must exist.
  ///   - diskCapacity: The largest size of the folder, in bytes, at least 1 MiB.
  ///   - memoryCapacity: Most bytes of responses that may be kept in memory only. Other responses take none of it.
  ///
  /// Takes as long as the opening of a store. Throws the errors of `CacheStore.open(at:options:)`, as `StoreError`. If
  /// the folder is deleted while the cache is open, the next change creates it again.
  public convenience init(path: String, diskCapacity: Int, memoryCapacity: Int = 4 << 20) throws {
    let options = StoreOptions(byteBudget: diskCapacity, recreatesIfRemoved: true)
    self.init(store: try CacheStore.open(at: path, options: options), memoryCapacity: memoryCapacity)
  }

  /// Makes a cache over an open store. ``removeAllCachedResponses()`` removes all entries of the store. O(1).
  public init(store: CacheStore, memoryCapacity: Int = 4 << 20) {
    self.store = store
    memory = MemoryResponses(capacity: memoryCapacity)
    #if canImport(FoundationNetworking)
      // Without a path, `URLCache` would create a folder among the caches of the user. `URLCache` writes nothing to the
      // folder of the store.
      super.init(memoryCapacity: memoryCapacity, diskCapacity: 0, diskPath: store.path)
    #else
      super.init(memoryCapacity: memoryCapacity, diskCapacity: 0, diskPath: nil)
    #endif
  }

  /// The key of a request; nil if its response is not cached.
  private func key(of request: URLRequest) -> String? {
    guard request.httpMethod ?? "GET" == "GET", request.value(forHTTPHeaderField: "Range") == nil,
      let url = request.url?.absoluteString
    else { return nil }
    return String(url.prefix { $0 != "#" })
  }

  // MARK: Responses

  /// Returns the response to a request, or nil if there is none. Copies the data. Metadata that are not a response are
  /// a miss.
  public override func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
    guard let key = key(of: request) else { return nil }
    if let entry = memory.entry(key) {
      return response(entry.response, entry.data, .allowedInMemoryOnly)
    }
    guard let blob = store.blob(key) else { return nil }
    return response(blob.metadata, blob.data, .allowed)
  }

  private func response(_ bytes: [UInt8], _ data: Data, _ policy: URLCache.StoragePolicy) -> CachedURLResponse? {
    ResponseCoding.decode(bytes).map {
      CachedURLResponse(response: $0, data: data, userInfo: nil, storagePolicy: policy)
    }
  }

  /// Stores a response as its policy allows: in the store, in memory, or not at all. Replaces the older response to the
  /// request, unless the policy is `notAllowed` or the response is partial (status 206).
  ///
  /// A response whose URL and header fields need more than 65,536 bytes is not stored. Takes about as long as a put.
  public override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {
    guard cachedResponse.storagePolicy != .notAllowed, let key = key(of: request) else { return }
    if (cachedResponse.response as? HTTPURLResponse)?.statusCode == 206 { return }
    guard let bytes = ResponseCoding.encode(cachedResponse.response), bytes.count <= 65_536 else {
      return removeCachedResponse(for: request)
    }
    if cachedResponse.storagePolicy == .allowedInMemoryOnly {
      remove(key)
      memory.put(.init(response: bytes, data: cachedResponse.data, date: Date()), for: key)
      return
    }
    memory.remove(key)
    do throws(StoreError) {
      try store.put(cachedResponse.data, for: key, options: PutOptions(metadata: bytes, durability: .buffered))
    } catch {
      // An older response must not be returned in place of this one.
      remove(key)
    }
  }

  private func remove(_ key: String) {
    do throws(StoreError) { try store.remove(key) } catch { store.conceal(CacheKey(key)) }
  }

  /// Removes the response to a request.
  public override func removeCachedResponse(for request: URLRequest) {
    guard let key = key(of: request) else { return }
    memory.remove(key)
    remove(key)
  }

  /// Removes all responses, and all other entries of the store.
  public override func removeAllCachedResponses() {
    memory.removeAll { _ in true }
    do throws(StoreError) { try store.removeAll() } catch { store.concealAll() }
  }

  /// Removes the responses that were stored after `date`. If the store cannot remove them, no response is returned any
  /// more. O(entries).
  public override func removeCachedResponses(since date: Date) {
    memory.removeAll { $0.date > date }
    do throws(StoreError) { try store.removeAll { $0.written > date } } catch { store.concealAll() }
  }

  // MARK: Sizes

  /// Bytes that the folder takes of the disk.
  public override var currentDiskUsage: Int { store.statistics().bytesOnDisk }

  /// Bytes of the responses that are kept in memory only.
  public override var currentMemoryUsage: Int { memory.byteCount }

  /// The largest size of the folder, in bytes. A change evicts responses until it holds; a size below 1 MiB, or one
  /// that the store refuses, changes nothing.
  public override var diskCapacity: Int {
    get { store.byteBudget }
    set { try? store.setBudgets(byteBudget: newValue) }
  }

  /// Most bytes of responses that may be kept in memory only.
  public override var memoryCapacity: Int {
    get { memory.capacity }
    set { memory.capacity = newValue }
  }
}
