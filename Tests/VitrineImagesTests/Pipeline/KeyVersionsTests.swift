import Testing
import Vitrine

@testable import VitrineImages

@Suite struct KeyVersionsTests {
  let one = KeyVersions.Basis(digest: Digest(high: 1, low: 1))
  let two = KeyVersions.Basis(digest: Digest(high: 2, low: 2))

  private func downloaded(_ basis: KeyVersions.Basis, _ versions: KeyVersions) -> KeyVersions.Basis {
    KeyVersions.Basis(digest: basis.digest, ordinal: versions.takeOrdinal())
  }

  @Test func sameOriginalKeepsTheVersion() throws {
    let versions = KeyVersions()
    let begun = versions.current(of: "a")
    #expect(versions.settle(one, of: "a", begunAt: begun) == begun)
    #expect(versions.settle(one, of: "a", begunAt: begun) == begun && versions.current(of: "a") == begun)
    #expect(versions.current(of: "b") != begun)
  }

  /// Such keys are `data:` URLs, which hold whole pictures.
  @Test func longKeysDoNotFillTheMemory() {
    let versions = KeyVersions()
    let long = String(repeating: "a", count: 1 << 20)
    let held = versions.begin(long + "0")
    for number in 1..<100 { _ = versions.current(of: "\(long)\(number)") }
    #expect(versions.count == 7)
    // Work under way keeps the version of its key.
    #expect(versions.current(of: long + "0") == held)
    versions.end(long + "0")
    for number in 0..<10_000 { _ = versions.current(of: "b\(number)") }
    #expect(versions.count == 10_000)
  }

  @Test func newOriginalStartsAVersionThatAdmitsOnlyItsWork() throws {
    let versions = KeyVersions()
    let begun = versions.current(of: "a")
    _ = versions.settle(one, of: "a", begunAt: begun)
    let next = try #require(versions.settle(two, of: "a", begunAt: begun))
    #expect(next != begun && versions.current(of: "a") == next)
    // Other work from the new download is admitted. Other work from the older original is not.
    #expect(versions.admits(two, of: "a", begunAt: begun) && versions.settle(two, of: "a", begunAt: begun) == next)
    #expect(!versions.admits(one, of: "a", begunAt: begun) && versions.settle(one, of: "a", begunAt: begun) == nil)
  }

  /// Work under the version before may have found an older original in the storage.
  @Test func downloadOfAKeyNotKnownBeforeStartsAVersion() throws {
    let versions = KeyVersions()
    let begun = versions.current(of: "a")
    let arrived = downloaded(two, versions)
    let next = try #require(versions.settle(arrived, of: "a", begunAt: begun))
    #expect(next != begun && versions.settle(arrived, of: "a", begunAt: begun) == next)
    #expect(!versions.admits(one, of: "a", begunAt: begun) && versions.settle(one, of: "a", begunAt: begun) == nil)
    #expect(versions.current(of: "a") == next)
  }

  @Test func laterDownloadReplacesAnEarlierOneAndNotTheReverse() throws {
    for isEarlierFirst in [true, false] {
      let versions = KeyVersions()
      let begun = versions.current(of: "a")
      let (earlier, later) = (downloaded(one, versions), downloaded(two, versions))
      if isEarlierFirst { #expect(versions.settle(earlier, of: "a", begunAt: begun) != nil) }
      let next = try #require(versions.settle(later, of: "a", begunAt: begun))
      #expect(versions.settle(earlier, of: "a", begunAt: begun) == nil && versions.current(of: "a") == next)
      // A change by the app replaces the original of every download that began before it.
      versions.advance("a")
      #expect(versions.settle(downloaded(one, versions), of: "a", begunAt: begun) == nil)
      #expect(versions.settle(downloaded(one, versions), of: "a", begunAt: versions.current(of: "a")) != nil)
    }
  }

  @Test func forgottenOriginalAdmitsOnlyLaterDownloads() throws {
    let versions = KeyVersions()
    let begun = versions.current(of: "a")
    let (earlier, forgotten, later) = (downloaded(one, versions), downloaded(two, versions), downloaded(one, versions))
    versions.forget(forgotten, of: "a")
    #expect(versions.settle(one, of: "a", begunAt: begun) == nil)
    #expect(versions.settle(earlier, of: "a", begunAt: begun) == nil)
    #expect(versions.settle(later, of: "a", begunAt: begun) != nil)
  }

  @Test func storedPictureIsConfirmedOnlyByItsOwnOriginal() {
    let versions = KeyVersions()
    let begun = versions.current(of: "a")
    #expect(versions.confirm(nil, of: "a", begunAt: begun) == begun)
    #expect(versions.confirm(one.digest, of: "a", begunAt: begun) == begun)
    #expect(versions.confirm(two.digest, of: "a", begunAt: begun) == nil && versions.current(of: "a") == begun)
    versions.advance("a", to: two.digest)
    #expect(versions.confirm(two.digest, of: "a", begunAt: begun) == nil)
    #expect(versions.confirm(two.digest, of: "a", begunAt: versions.current(of: "a")) != nil)
  }

  @Test func advancedKeyAdmitsNoEarlierWork() {
    let versions = KeyVersions()
    let begun = ["a", "b"].map { versions.current(of: $0) }
    versions.advance { $0 == KeyText("a") }
    #expect(versions.current(of: "a") != begun[0] && versions.current(of: "b") == begun[1])
    #expect(!versions.admits(one, of: "a", begunAt: begun[0]))
  }

  @Test func forgottenKeyCountsAsChanged() {
    let versions = KeyVersions()
    let begun = versions.current(of: "a")
    for number in 0..<10_000 { _ = versions.current(of: "k\(number)") }
    #expect(versions.current(of: "a") != begun && versions.settle(one, of: "a", begunAt: begun) == nil)
  }

  @Test func keyWithWorkInProgressIsNotForgotten() {
    let versions = KeyVersions(keyCount: 100)
    let begun = ["a", "b", "c"].map { versions.begin($0) }
    #expect(versions.begin("a") == begun[0])
    for number in 0..<1000 { _ = versions.current(of: "k\(number)") }
    #expect(versions.admits(one, of: "a", begunAt: begun[0]) && versions.current(of: "b") == begun[1])
    for number in 0..<1000 { _ = versions.current(of: "k\(number)") }
    versions.advance { $0 == KeyText("c") }
    #expect(versions.current(of: "c") != begun[2])
    for key in ["a", "b"] { versions.end(key) }
    for number in 0..<1000 { _ = versions.current(of: "k\(number)") }
    #expect(versions.current(of: "a") == begun[0] && versions.current(of: "b") != begun[1])
  }
}

@Suite struct KeyedWritesTests {
  @Test func writesOfAKeyAreSerializedWithinTheLimits() async throws {
    let writes = KeyedWrites(limit: 3)
    let running = Locked((keys: [Int: Int](), now: 0, most: 0, mostPreheating: 0, preheating: 0, isMixed: false))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<120 {
        group.addTask {
          let (key, isPreheating) = (number % 20, number % 7 == 0)
          try await writes.run("\(key)", Interest(isPreheating ? .preheating : .normal)) {
            running.withLock {
              $0.keys[key, default: 0] += 1
              if isPreheating { $0.preheating += 1 } else { $0.now += 1 }
              $0.most = max($0.most, $0.now)
              $0.mostPreheating = max($0.mostPreheating, $0.preheating)
              if $0.keys[key] != 1 { $0.isMixed = true }
            }
            try await Task.sleep(nanoseconds: 300_000)
            running.withLock {
              $0.keys[key, default: 0] -= 1
              if isPreheating { $0.preheating -= 1 } else { $0.now -= 1 }
            }
          }
        }
      }
      for _ in 0..<3 {
        group.addTask {
          try await writes.runAlone {
            let before = running.withLock { $0.now + $0.preheating }
            try await Task.sleep(nanoseconds: 2_000_000)
            let isAlone = before == 0 && running.withLock { $0.now + $0.preheating } == 0
            #expect(isAlone)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(running.withLock { $0.most <= 3 && $0.most > 1 && $0.mostPreheating == 1 && !$0.isMixed })
  }

  /// Holds a key in a task until the task is canceled.
  private func hold(_ writes: KeyedWrites, _ key: String, _ interest: Interest) async throws -> Task<Void, any Error> {
    let hasBegun = Locked(false)
    let task = Task {
      try await writes.run(key, interest) {
        hasBegun.withLock { $0 = true }
        while !Task.isCancelled { try? await Task.sleep(nanoseconds: 500_000) }
      }
    }
    try await until { hasBegun.withLock { $0 } }
    return task
  }

  @Test func preheatedWriteDelaysNoOtherKey() async throws {
    let writes = KeyedWrites(limit: 1)
    let preheating = try await hold(writes, "a", Interest(.preheating))
    let count = Locked(0)
    let others = (0..<100).map { key in
      Task { try await writes.run("\(key)", Interest(.low)) { count.withLock { $0 += 1 } } }
    }
    try await until { count.withLock { $0 } == 100 }
    for other in others { try await other.value }
    // A write of the same key waits.
    let same = Task { try await writes.run("a", Interest(.high)) { count.withLock { $0 += 1 } } }
    try await until { writes.waitingCount == 1 }
    #expect(count.withLock { $0 } == 100)
    preheating.cancel()
    try await same.value
    try await preheating.value
  }

  @Test func waitingWritesRunByTheirCurrentPriority() async throws {
    let writes = KeyedWrites(limit: 1)
    let holder = try await hold(writes, "a", Interest(.normal))
    let order = Locked<[String]>([])
    var tasks: [Task<Void, any Error>] = []
    let interests = [Interest(.low), Interest(.normal), Interest(.normal)]
    for (key, interest) in zip(["b", "c", "d"], interests) {
      tasks.append(Task { try await writes.run(key, interest) { order.withLock { $0.append(key) } } })
      try await until { writes.waitingCount == tasks.count }
    }
    interests[0].set(.high)
    interests[1].set(.low)
    holder.cancel()
    for task in tasks { try await task.value }
    #expect(order.withLock { $0 } == ["b", "d", "c"])
  }
}
