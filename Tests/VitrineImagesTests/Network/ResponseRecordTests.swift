import Testing
import Vitrine

@testable import VitrineImages

@Suite struct ResponseRecordTests {
  static let now: Int64 = 1_700_000_000_000

  private func record(_ headers: [String: String], sent: [String: String] = [:]) -> ResponseRecord {
    ResponseRecord(headers: headers, requestHeaders: sent, now: Self.now)
  }

  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
  ])
  func datesAreReadInAllThreeForms(_ text: String, _ seconds: Int64) {
    #expect(HTTPDate.seconds(text, year: 2026) == seconds)
  }

  @Test(arguments: [
    "", "0", "-1", "tomorrow", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:00:00 GMT", "Sun,",
    "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT", "Sun, 31 Apr 1994 08:49:37 GMT",
    "Sun, 00 Nov 1994 08:49:37 GMT",
  ])
  func invalidDateIsRejected(_ text: String) { #expect(HTTPDate.seconds(text, year: 2026) == nil) }

  @Test func directivesAreReadInAnyCaseAndOrder() {
    let control = CacheControl(" Private, MAX-AGE=\"60\" ,foo=\"a, no-store\",stale-while-revalidate=5,,immutable")
    #expect(control.maxAge == 60 && control.staleWhileRevalidate == 5 && control.isImmutable && !control.isNoStore)
    #expect(CacheControl("max-age=7, max-age=5").maxAge == 5)
    #expect(CacheControl("max-age=x").maxAge == 0 && CacheControl("max-age=-1").maxAge == 0)
    #expect(CacheControl("max-age=99999999999999999999").maxAge == 1 << 31)
    #expect(CacheControl("no-store, no-cache").isNoStore && CacheControl("no-cache").isNoCache)
  }

  @Test func cacheOfSeveralUsersKeepsNoPrivateResponse() {
    func shared(_ control: String) -> ResponseRecord {
      ResponseRecord(headers: ["Cache-Control": control], requestHeaders: [:], now: Self.now, isShared: true)
    }
    #expect(shared("private").isNoStore && shared("Private=\"x\", max-age=9").isNoStore && !shared("public").isNoStore)
    #expect(!record(["Cache-Control": "private"]).isNoStore)
    for (control, seconds) in [
      ("max-age=60, s-maxage=9", 9), ("max-age=9, s-maxage=60", 9), ("s-maxage=60", 60), ("s-maxage=0, max-age=5", 0),
    ] {
      #expect(shared(control).freshUntil == Self.now + Int64(seconds) * 1000, "\(control)")
    }
    let expired = ["Cache-Control": "s-maxage=60", "Expires": "0"]
    #expect(ResponseRecord(headers: expired, requestHeaders: [:], now: Self.now, isShared: true).freshUntil == Self.now)
    for control in ["s-maxage=9", "max-age=9, proxy-revalidate", "max-age=9, must-revalidate"] {
      #expect(shared(control).mustRevalidate && !shared(control).mayShowAfterError(at: Self.now + 9000), "\(control)")
    }
    #expect(!shared("max-age=9").mustRevalidate && !record(["Cache-Control": "s-maxage=9"]).mustRevalidate)
    #expect(shared("s-maxage=9, no-cache").freshUntil == Self.now)
    #expect(record(["Cache-Control": "max-age=60, s-maxage=9"]).freshUntil == Self.now + 60_000)
    #expect(record(["Cache-Control": "s-maxage=9"]).freshUntil == nil)
    // The answer 304 has the rules of the same cache.
    let kept = shared("max-age=60, s-maxage=9")
    let later = kept.refreshed(by: [:], requestHeaders: [:], now: Self.now + 5000, isShared: true)
    #expect(later.freshUntil == Self.now + 14_000)
  }

  @Test func responseWithoutCacheHeadersStaysFresh() {
    let record = record(["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"])
    #expect(record.standing(at: Self.now + (1 << 50)) == .fresh)
    #expect(record.conditions == ["If-Modified-Since": "Sun, 06 Nov 1994 08:49:37 GMT"])
  }

  @Test func ageHeaderShortensTheFreshness() {
    let record = record(["Cache-Control": "max-age=60, stale-while-revalidate=10", "Age": "20", "ETag": "\"a\""])
    #expect(record.standing(at: Self.now + 39_999) == .fresh)
    #expect(record.standing(at: Self.now + 40_000) == .staleButShown)
    #expect(record.standing(at: Self.now + 50_000) == .stale)
    #expect(record.mayShowAfterError(at: Self.now + 1 << 40))
    #expect(record.conditions == ["If-None-Match": "\"a\""])
  }

  @Test(
    arguments: [
      // No headers, or none about time.
      ([:], nil), (["Cache-Control": "public"], nil), (["Cache-Control": "private"], nil),
      (["Cache-Control": "immutable"], nil), (["Cache-Control": "s-maxage=5"], nil), (["Age": "70"], nil),
      (["Pragma": "no-cache"], nil),
      // max-age takes precedence over Expires (RFC 9111, 4.2.1).
      (["Cache-Control": "max-age=60"], 60), (["Cache-Control": "private, max-age=60"], 60),
      (["Cache-Control": "max-age=60, s-maxage=5"], 60), (["cache-control": "max-age=60, immutable"], 60),
      (["Cache-Control": "max-age=60", "Expires": "0"], 60),
      (["Cache-Control": "max-age=60", "Expires": "Thu, 01 Jan 2099 00:00:00 GMT"], 60),
      (["Cache-Control": "max-age=0"], 0), (["Cache-Control": "max-age"], 0),
      // Age is subtracted from max-age.
      (["Cache-Control": "max-age=60", "Age": "20"], 40), (["Cache-Control": "max-age=60", "Age": "90"], -30),
      (["Cache-Control": "max-age=60", "Age": "-5"], 60), (["Cache-Control": "max-age=60", "Age": "soon"], 60),
      (["Cache-Control": "max-age=60", "Age": " 20 , 7"], 40),
      (["Cache-Control": "max-age=60", "Age": "99999999999999999999"], 60 - 1 << 31),
      // Expires counts by the server's clock.
      (["Date": "Sun, 06 Nov 1994 08:49:37 GMT", "Expires": "Sun, 06 Nov 1994 08:50:37 GMT", "Age": "10"], 50),
      (["Expires": "Tue, 14 Nov 2023 22:14:20 GMT"], 60), (["Expires": "never"], 0), (["Expires": ""], 0),
      (["Expires": "Thu, 01 Jan 2099 00:00:00 GMT, Thu, 01 Jan 2099 00:00:00 GMT"], 0),
      // Pictures that must not be kept, or not be shown without a request.
      (["Cache-Control": "no-cache, max-age=60"], 0), (["Cache-Control": "no-store, max-age=60"], 0),
      (["Cache-Control": "no-cache=\"X-A, X-B\", max-age=60"], 0),
    ] as [([String: String], Int64?)])
  func freshnessFollowsTheHeaders(_ headers: [String: String], _ seconds: Int64?) {
    #expect(record(headers).freshUntil == seconds.map { Self.now + $0 * 1000 })
  }

  @Test func freshImmutableResponseForbidsRevalidation() {
    let record = record(["Cache-Control": "max-age=60, immutable"])
    #expect(record.forbidsAsking(at: Self.now + 59_999) && !record.forbidsAsking(at: Self.now + 60_000))
    #expect(self.record(["Cache-Control": "immutable"]).forbidsAsking(at: .max))
    #expect(
      !self.record(["Cache-Control": "max-age=60"]).forbidsAsking(at: Self.now)
        && !self.record([:]).forbidsAsking(at: 0))
    #expect(ResponseRecord(metadata: record.metadata)?.forbidsAsking(at: Self.now) == true)
  }

  @Test func mustRevalidateForbidsStaleResponses() {
    let record = record(["Cache-Control": "max-age=60, must-revalidate, stale-while-revalidate=600"])
    #expect(record.standing(at: Self.now + 60_000) == .stale)
    #expect(!record.mayShowAfterError(at: Self.now + 60_000))
    #expect(self.record(["Cache-Control": "no-cache"]).standing(at: Self.now) == .stale)
  }

  @Test func staleIfErrorEndsAfterItsSeconds() {
    let record = record(["Cache-Control": "max-age=1, stale-if-error=10"])
    #expect(record.mayShowAfterError(at: Self.now + 10_999) && !record.mayShowAfterError(at: Self.now + 11_000))
    // 0 and an invalid number allow none. Without the directive, there is no limit.
    for value in ["0", "x"] {
      let record = self.record(["Cache-Control": "max-age=1, stale-if-error=\(value)"])
      #expect(record.mayShowAfterError(at: Self.now + 999) && !record.mayShowAfterError(at: Self.now + 1001))
    }
    #expect(self.record(["Cache-Control": "max-age=1"]).mayShowAfterError(at: Self.now + 1_000_000))
  }

  /// RFC 9111, 3.5.
  @Test func answerToCredentialsIsForOneUserUnlessItSaysOtherwise() {
    for (words, isForAll) in [
      ("", false), ("max-age=60", false), ("public", true), ("must-revalidate", true), ("s-maxage=5", true),
      ("public, private", false),
    ] {
      func isNoStore(_ sent: [String: String], isShared: Bool) -> Bool {
        ResponseRecord(
          headers: ["Cache-Control": words], requestHeaders: sent, now: Self.now, isShared: isShared
        ).isNoStore
      }
      #expect(isNoStore(["authorization": "a"], isShared: true) == !isForAll, "\(words)")
      #expect(!isNoStore(["authorization": "a"], isShared: false), "\(words)")
      #expect(isNoStore([:], isShared: true) == words.contains("private"), "\(words)")
    }
  }

  /// A server that compares dates alone confirms the stored picture, and names the validator of another one.
  @Test func validatorOfAnotherPictureIsNotTakenFromAnAnswer304() {
    let first = record(["ETag": "\"a\"", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"])
    func refreshed(_ headers: [String: String]) -> ResponseRecord {
      first.refreshed(by: headers, requestHeaders: [:], now: Self.now)
    }
    let date = "Mon, 07 Nov 1994 08:49:37 GMT"
    #expect(refreshed(["ETag": "\"b\"", "Last-Modified": date]).conditions == first.conditions)
    #expect(refreshed(["ETag": "W/\"a\"", "Last-Modified": date]).lastModified == date)
    #expect(refreshed(["Last-Modified": date]).lastModified == date)
    #expect(record([:]).refreshed(by: ["ETag": "\"b\""], requestHeaders: [:], now: Self.now).entityTag == "\"b\"")
  }

  @Test func clockThatWasAheadMakesNothingFresh() {
    let record = record(["Cache-Control": "max-age=60"])
    #expect(record.standing(at: Self.now - 300_000) == .fresh && record.standing(at: Self.now - 300_001) == .stale)
    #expect(record.mayShowAfterError(at: Self.now - 1_000_000))
    let styled = StyledRecord(original: Digest(high: 1, low: 2), response: record)
    #expect(styled.isFresh(at: Self.now - 300_000) && !styled.isFresh(at: Self.now - 300_001))
    #expect(styled.isFresh(at: Self.now + 59_999) && !styled.isFresh(at: Self.now + 60_000))
    // A picture without a lifetime is fresh under any clock.
    #expect(self.record([:]).standing(at: 0) == .fresh)
  }

  @Test func expiresCountsByTheServersClock() {
    let headers = ["Date": "Sun, 06 Nov 1994 08:49:37 GMT", "Expires": "Sun, 06 Nov 1994 08:50:37 GMT"]
    #expect(record(headers).freshUntil == Self.now + 60_000)
    #expect(record(["Expires": "0"]).standing(at: Self.now) == .stale)
  }

  @Test func responseAnswersOnlyRequestsWithItsVaryHeaders() {
    let record = record(["Vary": "Accept, X-Size"], sent: ["accept": "image/webp", "Other": "1"])
    #expect(record.answers(["Accept": "image/webp"]) && !record.answers(["Accept": "image/png"]))
    #expect(!record.answers(["Accept": "image/webp", "X-Size": "2"]))
    #expect(!self.record(["Vary": "*"]).answers([:]))
  }

  @Test func notModifiedKeepsFactsThatItsHeadersOmit() throws {
    let first = record(["ETag": "\"a\"", "Content-Type": "image/png", "Cache-Control": "max-age=1, stale-if-error=3"])
    // The second record is read back from its metadata.
    for kept in [first, try #require(ResponseRecord(metadata: first.metadata))] {
      func refreshed(_ headers: [String: String]) -> ResponseRecord {
        kept.refreshed(by: headers, requestHeaders: [:], now: Self.now + 5000)
      }
      let longer = refreshed(["cache-control": "max-age=9"])
      #expect(longer.entityTag == "\"a\"" && longer.contentType == "image/png" && longer.staleIfError == 0)
      #expect(longer.freshUntil == Self.now + 14_000)
      // Without new headers about time, the old lifetime counts from now.
      let same = refreshed(["Date": "Sun, 06 Nov 1994 08:49:37 GMT", "Content-Type": "text/html"])
      #expect(same.freshUntil == Self.now + 6000 && same.contentType == "image/png" && same.staleIfError == 3000)
      #expect(refreshed(["Age": "1"]).freshUntil == Self.now + 5000)
      #expect(refreshed(["ETag": "\"b\""]).conditions == ["If-None-Match": "\"a\""])
      // Expires does not override the kept max-age.
      #expect(refreshed(["Expires": "0"]).freshUntil == Self.now + 6000)
    }
    let chosen = record(["Vary": "Accept, X-A"], sent: ["Accept": "b"])
      .refreshed(by: [:], requestHeaders: ["accept": "b"], now: 0)
    #expect(chosen.vary == ["accept": "b", "x-a": ""] && chosen.freshUntil == nil)
  }

  @Test func recordIsReadBackFromItsMetadata() {
    let record = record(
      ["ETag": "\"a\"", "Vary": "Accept", "Cache-Control": "max-age=5, stale-if-error=7"], sent: ["Accept": "x"])
    #expect(ResponseRecord(metadata: record.metadata) == record)
    #expect(ResponseRecord(metadata: []) == nil && ResponseRecord(metadata: Array("{}x".utf8)) == nil)
  }

  @Test func extremeTimesDoNotOverflow() throws {
    for number in [Int64.max, .min] {
      let text = "{\"f\":\(number),\"w\":\(number),\"x\":\(number),\"r\":false,\"v\":{}}"
      let record = try #require(ResponseRecord(metadata: Array(text.utf8)))
      for now in [Int64.min, 0, .max] { _ = (record.standing(at: now), record.mayShowAfterError(at: now)) }
    }
  }
}
