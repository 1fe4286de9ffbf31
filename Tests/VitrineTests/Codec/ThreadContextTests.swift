import Foundation
import Testing

@testable import Vitrine

@Suite struct ThreadContextTests {
  /// The most bytes that a thread may keep.
  private static let mostKept = 16 << 20

  private func onNewThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) throws -> R {
    let done = DispatchSemaphore(value: 0)
    let result = Guarded<Result<R, any Error>?>(nil)
    Thread.detachNewThread {
      let found = Result { try body() }
      result.withLock { $0 = found }
      done.signal()
    }
    done.wait()
    return try #require(result.withLock { $0 }).get()
  }

  /// Half noise, so that compressing saves about a half and fills a buffer.
  private static func halfNoise(_ count: Int, _ seed: UInt64) -> [UInt8] {
    var bytes = noise(count, seed)
    for index in stride(from: 0, to: count, by: 2) { bytes[index] = 0x41 }
    return bytes
  }

  @Test(arguments: [1, 19]) func threadKeepsAtMost16MiBAfterALargePut(_ level: Int) throws {
    let folder = try TemporaryFolder()
    let byteCount = level == 1 ? 24 << 20 : 2 << 20
    let store = try TestWorld().open(
      folder.store, StoreOptions(byteBudget: 512 << 20, compressionLevel: level))
    for thread in 0..<2 {
      let kept = try onNewThread { () throws -> [Int] in
        let value = Self.halfNoise(byteCount, UInt64(thread + 1))
        try store.put(value, for: "\(thread)")
        var kept = [ThreadContext.current.retainedByteCount]
        var batch = WriteBatch()
        batch.put(Self.halfNoise(byteCount, UInt64(thread + 11)), for: CacheKey("batch \(thread)"))
        try store.write(batch)
        kept.append(ThreadContext.current.retainedByteCount)
        let body = try store.writer(for: CacheKey("body \(thread)"))
        try body.write(Self.halfNoise(byteCount, UInt64(thread + 21)))
        try body.commit()
        kept.append(ThreadContext.current.retainedByteCount)
        // The first read checks the value in its file.
        _ = store.get("\(thread)") { $0.byteCount }
        kept.append(ThreadContext.current.retainedByteCount)
        return kept
      }
      for count in kept { #expect(count <= Self.mostKept, "\(kept)") }
    }
    #expect(store["0"] == Self.halfNoise(byteCount, 1))
    try store.close()
  }

  @Test func threadKeepsNoBufferOfAnIncompressibleValue() throws {
    let kept = try onNewThread {
      let context = ThreadContext.current
      let isCompressed = noise(8 << 20).withUnsafeBytes { context.compress($0, level: 1) } != nil
      return isCompressed ? Int.max : context.retainedByteCount
    }
    #expect(kept <= Self.mostKept)
  }

  @Test func nestedValuesKeepTwoBuffers() throws {
    let kept = try onNewThread {
      let context = ThreadContext.current
      for _ in 0..<12 { _ = context.value(byteCount: 3 << 20) { _ in true } }
      for _ in 0..<12 { context.releaseValue() }
      return (context.retainedByteCount, context.values.count)
    }
    #expect(kept.0 <= Self.mostKept && kept.1 == 2)
  }
}
