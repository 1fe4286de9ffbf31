import Foundation
import Testing
import Vitrine
import VitrineDiskStorage

/// Kingfisher's protocol for values, with its exact signatures, and its calls for any such value.
public protocol DataTransformable {
  func toData() throws -> Data
  static func fromData(_ data: Data) throws -> Self
  static var empty: Self { get }
}

extension String: DataTransformable {
  public func toData() throws -> Data { Data(utf8) }
  public static func fromData(_ data: Data) throws -> String { String(decoding: data, as: UTF8.self) }
  public static var empty: String { "" }
}

/// The behavior of Kingfisher's disk storage.
@Suite struct DiskStorageTests {
  private let world = World()
  private static let day: Int64 = 86_400_000

  private func storage(
    sizeLimit: Int = 0, expiration: StorageExpiration = VitrineDiskStorage.defaultExpiration
  ) throws -> VitrineDiskStorage {
    let clock = world.clock
    return VitrineDiskStorage(store: try world.open(), sizeLimit: sizeLimit, expiration: expiration) { clock.date }
  }

  @Test func storedValueIsReturned() throws {
    let storage = try storage()
    #expect(storage.value(forKey: "a") == nil && !storage.isCached(forKey: "a"))
    try storage.store(value: Data([1, 2]), forKey: "a")
    #expect(storage.value(forKey: "a") == Data([1, 2]) && storage.isCached(forKey: "a"))
    try storage.store(value: Data(), forKey: "a")
    #expect(storage.value(forKey: "a") == Data())
  }

  @Test func transformableValuesNeedOneLineEach() throws {
    let storage = try storage()
    try storage.store(value: "text".toData(), forKey: "a")
    #expect(try storage.value(forKey: "a").map(String.fromData) == "text")
  }

  @Test func valuesExpireAfterSevenDaysByDefault() throws {
    let storage = try storage()
    try storage.store(value: Data([1]), forKey: "a")
    world.clock.advance(7 * Self.day - 1)
    #expect(storage.isCached(forKey: "a"))
    world.clock.advance(1)
    #expect(!storage.isCached(forKey: "a") && storage.value(forKey: "a") == nil)
  }

  @Test func everyFormOfExpiryIsKept() throws {
    let storage = try storage(expiration: .seconds(1))
    try storage.store(value: Data([1]), forKey: "default")
    try storage.store(value: Data([1]), forKey: "seconds", expiration: .seconds(2))
    try storage.store(value: Data([1]), forKey: "days", expiration: .days(1))
    try storage.store(value: Data([1]), forKey: "date", expiration: .date(world.clock.date + 3))
    try storage.store(value: Data([1]), forKey: "never", expiration: .never)
    let keys = ["default", "seconds", "date", "days", "never"]
    for (milliseconds, left) in [(999, 5), (1, 4), (1000, 3), (1000, 2), (86_397_000, 1)] as [(Int64, Int)] {
      world.clock.advance(milliseconds)
      #expect(keys.filter { storage.isCached(forKey: $0) } == keys.suffix(left))
    }
  }

  @Test func expiredValueIsNotStored() throws {
    let storage = try storage()
    try storage.store(value: Data([1]), forKey: "a")
    try storage.store(value: Data([2]), forKey: "a", expiration: .expired)
    try storage.store(value: Data([2]), forKey: "b", expiration: .seconds(0))
    try storage.store(value: Data([2]), forKey: "b", expiration: .date(.distantPast))
    #expect(storage.value(forKey: "a") == Data([1]) && !storage.isCached(forKey: "b"))
  }

  @Test func extremeExpiriesDoNotTrap() throws {
    let storage = try storage()
    for seconds in [Double.infinity, -.infinity, .nan, 1e300] {
      try storage.store(value: Data([1]), forKey: "\(seconds)", expiration: .seconds(seconds))
      _ = storage.value(forKey: "\(seconds)")
    }
    try storage.store(value: Data([1]), forKey: "days", expiration: .days(.max))
    #expect(storage.value(forKey: "days") == Data([1]) && storage.isCached(forKey: "inf"))
  }

  @Test func cacheTimeBeginsAnewAtEachRead() throws {
    let storage = try storage(expiration: .seconds(10))
    try storage.store(value: Data([1]), forKey: "a")
    for _ in 0..<5 {
      world.clock.advance(9000)
      #expect(storage.value(forKey: "a") == Data([1]))
    }
    world.clock.advance(10_000)
    #expect(storage.value(forKey: "a") == nil)
  }

  @Test func readWithoutExtensionLeavesTheExpiry() throws {
    let storage = try storage(expiration: .seconds(10))
    try storage.store(value: Data([1]), forKey: "a")
    world.clock.advance(9000)
    #expect(storage.value(forKey: "a", extendingExpiration: .none) == Data([1]))
    #expect(storage.isCached(forKey: "a"))
    world.clock.advance(1000)
    #expect(!storage.isCached(forKey: "a"))
  }

  @Test func refusedExtensionIsNoError() throws {
    try storage(expiration: .seconds(10)).store(value: Data([1]), forKey: "a")
    world.clock.advance(5000)
    let clock = world.clock
    let reader = VitrineDiskStorage(
      store: try world.open(StoreOptions(isReadOnly: true)), sizeLimit: 0, expiration: .never
    ) { clock.date }
    #expect(reader.value(forKey: "a") == Data([1]))
    #expect(throws: StoreError.readOnly) { try reader.store(value: Data([2]), forKey: "a") }
    world.clock.advance(5000)
    #expect(reader.value(forKey: "a") == nil)
  }

  @Test func readSetsAGivenExpiry() throws {
    let storage = try storage(expiration: .seconds(10))
    try storage.store(value: Data([1]), forKey: "a")
    #expect(storage.value(forKey: "a", extendingExpiration: .expirationTime(.seconds(60))) == Data([1]))
    world.clock.advance(59_000)
    #expect(storage.value(forKey: "a", extendingExpiration: .expirationTime(.never)) == Data([1]))
    world.clock.advance(1000 * Self.day)
    #expect(storage.value(forKey: "a") == Data([1]))
    #expect(storage.value(forKey: "a", extendingExpiration: .expirationTime(.expired)) == Data([1]))
    #expect(!storage.isCached(forKey: "a"))
  }

  @Test func cacheTimeOfAValueWithoutExpiryIsNone() throws {
    let storage = try storage(expiration: .never)
    try storage.store(value: Data([1]), forKey: "a")
    #expect(storage.value(forKey: "a") == Data([1]))
    world.clock.advance(1000 * Self.day)
    #expect(storage.isCached(forKey: "a"))
  }

  @Test func cachingIsJudgedAtAReferenceDate() throws {
    let storage = try storage(expiration: .seconds(10))
    try storage.store(value: Data([1]), forKey: "a")
    try storage.store(value: Data([1]), forKey: "never", expiration: .never)
    #expect(storage.isCached(forKey: "a", referenceDate: world.clock.date + 9))
    #expect(!storage.isCached(forKey: "a", referenceDate: world.clock.date + 10))
    #expect(storage.isCached(forKey: "never", referenceDate: .distantFuture))
    #expect(!storage.isCached(forKey: "none", referenceDate: world.clock.date))
  }

  @Test func expiredValuesAreRemovedOnRequest() throws {
    let storage = try storage(expiration: .seconds(10))
    try storage.store(value: Data([1]), forKey: "a")
    try storage.store(value: Data([1]), forKey: "b")
    try storage.store(value: Data([1]), forKey: "never", expiration: .never)
    #expect(try !storage.removeIfExpired(forKey: "a") && storage.removeExpiredValues() == 0)
    world.clock.advance(10_000)
    #expect(try storage.removeIfExpired(forKey: "a") && !storage.removeIfExpired(forKey: "a"))
    #expect(try storage.removeExpiredValues() == 1 && storage.isCached(forKey: "never"))
  }

  @Test func valuesAreRemovedByKeyAndAll() throws {
    let storage = try storage()
    for key in ["a", "b", "c"] { try storage.store(value: Data([1]), forKey: key) }
    try storage.remove(forKey: "a")
    try storage.remove(forKey: "none")
    #expect(!storage.isCached(forKey: "a") && storage.isCached(forKey: "b"))
    try storage.removeAll()
    #expect(!storage.isCached(forKey: "b") && storage.cacheStore.count == 0)
  }

  @Test func exceededSizeIsReducedToHalf() throws {
    let storage = try storage(sizeLimit: 2 << 20)
    #expect(try storage.removeSizeExceededValues() == 0)
    for number in 0..<50 { try storage.store(value: noise(60_000, seed: UInt64(number)), forKey: "\(number)") }
    #expect(storage.totalSize() > 2 << 20)
    #expect(try storage.removeSizeExceededValues() > 0)
    #expect(storage.totalSize() <= 1 << 20 && storage.cacheStore.count > 0)
    #expect(try storage.removeSizeExceededValues() == 0)
  }

  @Test func storageOfAPathKeepsItsSizeAndItsValues() throws {
    let first = try VitrineDiskStorage(path: world.path, sizeLimit: 1 << 20)
    for number in 0..<50 { try first.store(value: noise(60_000, seed: UInt64(number)), forKey: "\(number)") }
    #expect(first.totalSize() <= 1 << 20 && first.isCached(forKey: "49"))
    try first.cacheStore.close()
    let second = try VitrineDiskStorage(path: world.path, sizeLimit: 1 << 20)
    #expect(second.value(forKey: "49") == noise(60_000, seed: 49))
    try second.cacheStore.close()
  }

  @Test func foreignMetadataDoNotTrap() throws {
    let storage = try storage()
    let foreign: [[UInt8]] = [
      [1], [0, 1, 2, 3, 4, 5, 6, 7, 8], Array(repeating: 255, count: 9), [1] + Array(repeating: 255, count: 8),
    ]
    for (number, metadata) in foreign.enumerated() {
      try storage.cacheStore.put(
        [7], for: "\(number)",
        options: PutOptions(metadata: metadata, expirationMilliseconds: world.clock.wallMilliseconds() + 1000))
      #expect(storage.value(forKey: "\(number)") == Data([7]))
    }
  }
}
