import Testing

@testable import VitrineImages

@Suite struct RetryAfterTests {
  private let now: Int64 = 784_111_777  // Sun, 06 Nov 1994 08:49:37 GMT

  private func pause(_ text: String, date: String? = nil) -> Int64? {
    var headers = ["retry-after": text]
    headers["Date"] = date
    return RetryAfter.milliseconds(LoadResponse(status: 503, headers: headers), now: now)
  }

  @Test func secondsAndDatesAreRead() {
    #expect(pause("2") == 2000 && pause(" 0 ") == 0)
    #expect(pause("Sun, 06 Nov 1994 08:49:47 GMT") == 10_000)
    #expect(pause("Sun, 06 Nov 1994 08:49:27 GMT") == 0)
    #expect(pause("Sun, 06 Nov 1994 08:49:47 GMT", date: "Sun, 06 Nov 1994 08:49:40 GMT") == 7000)
    #expect(RetryAfter.milliseconds(LoadResponse(), now: now) == nil)
  }

  @Test(arguments: ["3600", "9999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
  func longPauseIsLimited(_ text: String) {
    #expect(pause(text) == RetryAfter.mostMilliseconds)
  }

  @Test(arguments: ["", "-1", "1.5", "soon", "2 s"])
  func invalidPauseIsNone(_ text: String) {
    #expect(pause(text) == nil)
  }

  // MARK: The fetcher

  private func fetcher(
    _ answers: [ScriptedLoader.Answer], _ pauses: Locked<[Int64]>, now: Locked<Int64> = Locked(0)
  ) -> (HTTPFetcher, ScriptedLoader) {
    let count = Locked(0)
    let loader = ScriptedLoader { _ in
      let number = count.withLock { count in
        count += 1
        return count - 1
      }
      return answers[min(number, answers.count - 1)]
    }
    let fetcher = HTTPFetcher(
      loader, .init(attemptCount: 3, pauseMilliseconds: 1), now: { now.withLock { $0 } },
      sleep: { time in pauses.withLock { $0.append(time) } })
    return (fetcher, loader)
  }

  @Test func nextAttemptWaitsAsLongAsTheServerAsks() async throws {
    let pauses = Locked<[Int64]>([])
    let (fetcher, _) = fetcher(
      [.init(status: 429, headers: ["Retry-After": "2"]), .init(status: 503), .init(body: [1])], pauses)
    #expect(try await fetcher.fetch(LoadRequest(url: "a")).body == [1])
    let found = pauses.withLock { $0 }
    #expect(found.count == 2 && (2000...2001).contains(found[0]) && found[1] < 10)
  }

  @Test func tooLongPauseIsAFailureThatIsRememberedAsLong() async throws {
    let (pauses, now) = (Locked<[Int64]>([]), Locked<Int64>(0))
    let (fetcher, loader) = fetcher([.init(status: 429, headers: ["Retry-After": "120"])], pauses, now: now)
    let request = LoadRequest(url: "a")
    await #expect(throws: LoadError.status(429)) { try await fetcher.fetch(request) }
    now.withLock { $0 = 119_999 }
    await #expect(throws: LoadError.failedBefore("the server answered 429", isTransient: true)) {
      try await fetcher.fetch(request)
    }
    #expect(loader.requests.count == 1 && pauses.withLock { $0.isEmpty })
    now.withLock { $0 = 120_000 }
    await #expect(throws: LoadError.status(429)) { try await fetcher.fetch(request) }
  }

  @Test func permanentRefusalIsNotTriedAgain() async throws {
    let pauses = Locked<[Int64]>([])
    let (fetcher, loader) = fetcher([.init(status: 404, headers: ["Retry-After": "1"])], pauses)
    await #expect(throws: LoadError.status(404)) { try await fetcher.fetch(LoadRequest(url: "a")) }
    #expect(loader.requests.count == 1)
  }
}
