import Foundation
import Testing
import Vitrine

@testable import VitrineURLCache

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The behavior of Foundation's `URLCache`.
@Suite struct URLCacheTests {
  private let world = World()
  private let url = URL(string: "https://example.org/a.jpg?size=1")!

  private func cache(memoryCapacity: Int = 100_000) throws -> VitrineURLCache {
    VitrineURLCache(store: try world.open(), memoryCapacity: memoryCapacity)
  }

  private func response(
    _ data: Data, status: Int = 200, _ policy: URLCache.StoragePolicy = .allowed, fields: [String: String] = [:]
  ) throws -> CachedURLResponse {
    let response = try #require(
      HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields))
    return CachedURLResponse(response: response, data: data, userInfo: nil, storagePolicy: policy)
  }

  @Test func storedResponseIsReturnedWithItsStatusAndFields() throws {
    let cache: URLCache = try cache()
    let request = URLRequest(url: url)
    #expect(cache.cachedResponse(for: request) == nil)
    let fields = ["Content-Type": "image/jpeg", "Etag": "\"7\"", "X-Name": "ä"]
    cache.storeCachedResponse(try response(Data([1, 2]), status: 203, fields: fields), for: request)
    let cached = try #require(cache.cachedResponse(for: request))
    let http = try #require(cached.response as? HTTPURLResponse)
    #expect(cached.data == Data([1, 2]) && cached.storagePolicy == .allowed)
    #expect(http.statusCode == 203 && http.url == url && http.mimeType == "image/jpeg")
    #expect(fields.allSatisfy { http.value(forHTTPHeaderField: $0.key) == $0.value })
  }

  @Test func responseWithoutHTTPIsReturned() throws {
    let cache = try cache()
    let request = URLRequest(url: url)
    let plain = URLResponse(url: url, mimeType: "text/plain", expectedContentLength: 7, textEncodingName: nil)
    cache.storeCachedResponse(CachedURLResponse(response: plain, data: Data([1])), for: request)
    let cached = try #require(cache.cachedResponse(for: request)).response
    #expect(!(cached is HTTPURLResponse) && cached.url == url && cached.mimeType == "text/plain")
    #expect(cached.expectedContentLength == 7 && cached.textEncodingName == nil)
  }

  @Test func requestsDifferByURLWithoutItsFragment() throws {
    let cache = try cache()
    cache.storeCachedResponse(try response(Data([1])), for: URLRequest(url: url))
    let fragment = try #require(URL(string: url.absoluteString + "#part"))
    let query = try #require(URL(string: "https://example.org/a.jpg?size=2"))
    #expect(cache.cachedResponse(for: URLRequest(url: fragment))?.data == Data([1]))
    #expect(cache.cachedResponse(for: URLRequest(url: query)) == nil)
  }

  @Test func onlyWholeResponsesToGetAreStored() throws {
    let cache = try cache()
    var post = URLRequest(url: url)
    post.httpMethod = "POST"
    var range = URLRequest(url: url)
    range.setValue("bytes=0-1", forHTTPHeaderField: "Range")
    for request in [post, range] {
      cache.storeCachedResponse(try response(Data([1])), for: request)
      #expect(cache.cachedResponse(for: request) == nil)
    }
    cache.storeCachedResponse(try response(Data([1]), status: 206), for: URLRequest(url: url))
    #expect(cache.cachedResponse(for: URLRequest(url: url)) == nil && cache.store.count == 0)
  }

  @Test func storagePolicyIsRespected() throws {
    let cache = try cache()
    let request = URLRequest(url: url)
    cache.storeCachedResponse(try response(Data([1]), .notAllowed), for: request)
    #expect(cache.cachedResponse(for: request) == nil)
    cache.storeCachedResponse(try response(Data([2]), .allowedInMemoryOnly), for: request)
    #expect(cache.cachedResponse(for: request)?.data == Data([2]) && cache.store.count == 0)
    #expect(cache.cachedResponse(for: request)?.storagePolicy == .allowedInMemoryOnly)
    #expect(cache.currentMemoryUsage > 0)
    cache.storeCachedResponse(try response(Data([3])), for: request)
    #expect(cache.cachedResponse(for: request)?.data == Data([3]) && cache.store.count == 1)
    #expect(cache.currentMemoryUsage == 0)
    cache.storeCachedResponse(try response(Data([4]), .allowedInMemoryOnly), for: request)
    #expect(cache.cachedResponse(for: request)?.data == Data([4]) && cache.store.count == 0)
  }

  @Test func memoryStaysWithinItsCapacity() throws {
    let cache = try cache(memoryCapacity: 5000)
    let urls = (0..<10).map { URL(string: "https://example.org/\($0)")! }
    for url in urls {
      cache.storeCachedResponse(try response(noise(1000), .allowedInMemoryOnly), for: URLRequest(url: url))
    }
    #expect(cache.currentMemoryUsage <= 5000 && cache.cachedResponse(for: URLRequest(url: urls[9])) != nil)
    #expect(cache.cachedResponse(for: URLRequest(url: urls[0])) == nil)
    cache.memoryCapacity = 2500
    #expect(cache.currentMemoryUsage <= 2500 && cache.cachedResponse(for: URLRequest(url: urls[9])) != nil)
    cache.storeCachedResponse(try response(noise(3000), .allowedInMemoryOnly), for: URLRequest(url: urls[9]))
    #expect(cache.cachedResponse(for: URLRequest(url: urls[9])) == nil)
  }

  @Test func responsesAreRemovedByRequestAndAll() throws {
    let cache = try cache()
    let other = URLRequest(url: try #require(URL(string: "https://example.org/b")))
    let memory = URLRequest(url: try #require(URL(string: "https://example.org/c")))
    cache.storeCachedResponse(try response(Data([1])), for: URLRequest(url: url))
    cache.storeCachedResponse(try response(Data([1])), for: other)
    cache.storeCachedResponse(try response(Data([1]), .allowedInMemoryOnly), for: memory)
    cache.removeCachedResponse(for: URLRequest(url: url))
    #expect(cache.cachedResponse(for: URLRequest(url: url)) == nil && cache.cachedResponse(for: other) != nil)
    cache.removeAllCachedResponses()
    #expect(cache.cachedResponse(for: other) == nil && cache.cachedResponse(for: memory) == nil)
  }

  @Test func responsesSinceADateAreRemoved() throws {
    let cache = try cache()
    let later = URLRequest(url: try #require(URL(string: "https://example.org/b")))
    cache.storeCachedResponse(try response(Data([1])), for: URLRequest(url: url))
    let date = world.clock.date
    world.clock.advance(1000)
    cache.storeCachedResponse(try response(Data([1])), for: later)
    cache.removeCachedResponses(since: date)
    #expect(cache.cachedResponse(for: URLRequest(url: url)) != nil && cache.cachedResponse(for: later) == nil)
  }

  @Test func capacityAndUsageAreThoseOfTheStore() throws {
    let cache = try cache()
    #expect(cache.diskCapacity == 4 << 20 && cache.memoryCapacity == 100_000)
    cache.diskCapacity = 2 << 20
    #expect(cache.diskCapacity == 2 << 20 && cache.store.byteBudget == 2 << 20)
    cache.diskCapacity = 10
    #expect(cache.diskCapacity == 2 << 20)
    #expect(cache.currentDiskUsage == cache.store.statistics().bytesOnDisk && cache.currentDiskUsage > 0)
  }

  @Test func responsesSurviveClosing() throws {
    let first = try VitrineURLCache(path: world.path, diskCapacity: 1 << 20)
    first.storeCachedResponse(try response(Data([1])), for: URLRequest(url: url))
    try first.store.close()
    let second = try VitrineURLCache(path: world.path, diskCapacity: 1 << 20)
    #expect(second.cachedResponse(for: URLRequest(url: url))?.data == Data([1]))
    try second.store.close()
  }

  @Test func tooManyFieldsAreNotStoredAndRemoveTheOlderResponse() throws {
    let cache = try cache()
    let request = URLRequest(url: url)
    cache.storeCachedResponse(try response(Data([1])), for: request)
    let fields = ["X-Long": String(repeating: "x", count: 70_000)]
    cache.storeCachedResponse(try response(Data([2]), fields: fields), for: request)
    #expect(cache.cachedResponse(for: request) == nil)
  }

  /// The calls that a `URLSession` makes for its tasks reach the store. The task never runs.
  @Test func dataTaskFindsItsResponse() async throws {
    let configuration = URLSessionConfiguration.ephemeral
    let cache = try cache()
    configuration.urlCache = cache
    let session = URLSession(configuration: configuration)
    let task = session.dataTask(with: URLRequest(url: url))
    cache.storeCachedResponse(try response(Data([1, 2])), for: task)
    #expect(cache.store.contains(url.absoluteString))
    let data = await withCheckedContinuation { continuation in
      cache.getCachedResponse(for: task) { continuation.resume(returning: $0?.data) }
    }
    #expect(data == Data([1, 2]))
    cache.removeCachedResponse(for: task)
    #expect(cache.store.count == 0)
    session.invalidateAndCancel()
  }

  @Test func closedStoreReturnsNoOlderResponse() throws {
    let cache = try cache()
    let request = URLRequest(url: url)
    cache.storeCachedResponse(try response(Data([1])), for: request)
    try cache.store.close()
    cache.storeCachedResponse(try response(Data([2])), for: request)
    #expect(cache.cachedResponse(for: request) == nil)
    cache.removeAllCachedResponses()
    cache.removeCachedResponses(since: .distantPast)
  }

  @Test func foreignEntryIsAMiss() throws {
    let cache = try cache()
    try cache.store.put([1], for: url.absoluteString)
    #expect(cache.cachedResponse(for: URLRequest(url: url)) == nil)
  }

  @Test func damagedMetadataDecodeToNothing() throws {
    let fields = ["Content-Type": "image/jpeg", "Etag": "\"7\""]
    let http = try response(Data(), fields: fields).response
    let plain = URLResponse(url: url, mimeType: "a/b", expectedContentLength: -1, textEncodingName: "utf-8")
    for whole in [http, plain].compactMap(ResponseCoding.encode) {
      #expect(ResponseCoding.decode(whole) != nil)
      for count in 0..<whole.count { #expect(ResponseCoding.decode(Array(whole.prefix(count))) == nil) }
      #expect(ResponseCoding.decode(whole + [0]) == nil)
      // Any other bytes may be a response, but must not trap.
      for index in whole.indices {
        for value in [0, 1, 127, 128, 255] as [UInt8] {
          var bytes = whole
          bytes[index] = value
          _ = ResponseCoding.decode(bytes)
        }
      }
    }
  }

  @Test(arguments: 1...200 as ClosedRange<UInt64>)
  func randomMetadataDoNotTrap(_ seed: UInt64) {
    let bytes = Array(noise(Int(seed * 3), seed: seed))
    _ = ResponseCoding.decode(bytes)
    _ = ResponseCoding.decode([1, UInt8(seed & 1)] + bytes)
  }
}
