import Foundation
import Testing
import Vitrine
import VitrineFoundation

/// Dates and durations in place of milliseconds.
@Suite struct MomentTests {
  private let folder = Folder()

  @Test(arguments: [0, 1, -1, 1_700_000_000_123, -62_135_596_800_000, 253_402_300_799_999] as [Int64])
  func dateKeepsItsMilliseconds(_ milliseconds: Int64) {
    #expect(Date(milliseconds: milliseconds).milliseconds == milliseconds)
  }

  @Test func datesOutsideTheRangeBecomeItsLimits() {
    #expect(Date(timeIntervalSince1970: .infinity).milliseconds == .max)
    #expect(Date(timeIntervalSince1970: -.infinity).milliseconds == .min)
    #expect(Date(timeIntervalSince1970: 1e300).milliseconds == .max)
    #expect(Date(timeIntervalSince1970: .nan).milliseconds == 0)
  }

  @Test func durationsAreRoundedUpAndDoNotOverflow() {
    #expect(Duration.nanoseconds(1).milliseconds == 1)
    #expect(Duration.milliseconds(7).milliseconds == 7)
    #expect((Duration.milliseconds(7) + .nanoseconds(1)).milliseconds == 8)
    #expect(Duration.zero.milliseconds == 0 && Duration.seconds(-2).milliseconds == -2000)
    #expect(Duration.seconds(Int64.max).milliseconds == .max && Duration.seconds(Int64.min).milliseconds == .min)
    #expect(Int64.max.milliseconds(after: .seconds(1)) == .max)
    #expect((Int64.min + 5).milliseconds(after: .seconds(-1)) == .min)
  }

  @Test func putOptionsTakeDatesAndDurations() {
    let now = Date(milliseconds: 1_700_000_000_000)
    #expect(PutOptions(expires: now).expirationMilliseconds == 1_700_000_000_000)
    #expect(PutOptions(expiresAfter: .seconds(5), now: now).expiration == Date(milliseconds: 1_700_000_005_000))
    #expect(PutOptions(expiresUnused: .seconds(5)).slidingExpirationMilliseconds == 5000)
    var options = PutOptions(metadata: [1])
    options.expiration = now
    options.slidingExpiration = .milliseconds(3)
    #expect(options.expirationMilliseconds == 1_700_000_000_000 && options.slidingExpiration == .milliseconds(3))
    options.expiration = nil
    options.slidingExpiration = nil
    #expect(options.expirationMilliseconds == nil && options.slidingExpirationMilliseconds == nil)
  }

  @Test func storeOptionsTakeDurations() {
    var options = StoreOptions()
    #expect(options.maximumAge == nil && options.maximumIdle == nil && options.waitForLock == .zero)
    options.maximumAge = .seconds(60)
    options.maximumIdle = .zero
    options.waitForLock = .seconds(2)
    #expect(options.maximumAgeMilliseconds == 60_000 && options.maximumIdleMilliseconds == 0)
    #expect(options.waitForLockMilliseconds == 2000 && options.maximumAge == .seconds(60))
    options.waitForLock = .seconds(Int64.max)
    #expect(options.waitForLockMilliseconds == .max)
  }

  @Test func entriesAndBlobsHaveDates() throws {
    let store = try folder.open()
    let expiry = Date(milliseconds: 4_000_000_000_000)
    try store.put(Data([1]), for: "a", options: PutOptions(expires: expiry))
    try store.put(Data([1]), for: "b", options: PutOptions(expiresUnused: .seconds(3600)))
    guard case .found(let a) = store.lookup("a"), case .found(let b) = store.lookup("b") else {
      throw StoreError.aborted
    }
    #expect(a.expiration == expiry && a.slidingExpiration == nil)
    #expect(b.expiration == nil && b.slidingExpiration == .seconds(3600))
    #expect(a.written.milliseconds == a.writtenMilliseconds && a.lastUsed?.milliseconds == a.lastUsedMilliseconds)
    let blob = try #require(store.blob("a"))
    #expect(blob.expiration == expiry && blob.written == a.written)
  }

  @Test func expiryInThePastIsAMiss() throws {
    let store = try folder.open()
    try store.put(Data([1]), for: "old", options: PutOptions(expires: .distantPast))
    try store.put(Data([1]), for: "epoch", options: PutOptions(expires: Date(timeIntervalSince1970: 0)))
    try store.put(Data([1]), for: "new", options: PutOptions(expires: .distantFuture))
    #expect(store["old"] == nil && store["epoch"] == nil && store["new"] == Data([1]))
    #expect(try store.setExpiration(Date.distantPast, for: CacheKey("new")))
    #expect(store["new"] == nil)
  }

  @Test func unusedEntriesAreRemovedByDate() throws {
    let store = try folder.open()
    try store.put(Data([1]), for: "a")
    #expect(try store.removeUnused(since: Date.distantPast) == 0)
    #expect(try store.removeUnused(since: Date.distantFuture) == 1)
  }
}
