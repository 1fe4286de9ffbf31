import Foundation
import Testing

@testable import Vitrine

/// A search for the blobs of a digest while their records are moved.
@Suite struct MovedBlobTests {
  @Test func aBlobThatIsMovedDuringTheSearchIsListedOnce() throws {
    let disk = MemoryDisk()
    let world = TestWorld(fileSystem: disk)
    let options = StoreOptions(byteBudget: 16 << 20, segmentByteCount: 64 << 10, reads: .copied)
    let store = try world.open("store", options)
    try store.put(noise(3000, 1), for: "kept")
    for number in 0..<60 { try store.put(noise(3000, UInt64(100 + number)), for: "\(number)") }
    for number in 0..<60 { try store.remove("\(number)") }
    guard case .found(let kept) = store.lookup("kept") else {
      Issue.record("the entry is missing")
      return
    }
    let moved = Guarded<Int?>(nil)
    disk.onRead.withLock { handler in
      handler = { [disk] path, _ in
        guard path.hasPrefix("segments/") else { return }
        disk.onRead.withLock { $0 = nil }
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          let count = (try? store.compact())?.recordsMoved
          moved.withLock { $0 = count }
          done.signal()
        }
        done.wait()
      }
    }
    let found = try store.entries(digest: kept.digest)
    let count = moved.withLock { $0 }
    #expect(count == 1)
    #expect(found.map(\.key) == [CacheKey("kept")])
    try store.close()
  }
}
