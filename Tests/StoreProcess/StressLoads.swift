import Glibc
import Synchronization
import Vitrine

/// Clients that begin a body and then send nothing more. Together they ask for far more than bodies may hold, so
/// most of them wait, and every few seconds each starts again.
final class StalledClients: Sendable {
  static let count = 1000
  private let store: CacheStore
  private let isOver: @Sendable () -> Bool
  private let wrong = Guarded<[String]>([])
  private let running = Atomic(0)

  init(_ store: CacheStore, isOver: @escaping @Sendable () -> Bool) {
    self.store = store
    self.isOver = isOver
    running.store(StalledClients.count, ordering: .relaxed)
    for number in 0..<StalledClients.count { Task.detached { await self.stall(number) } }
  }

  private func stall(_ number: Int) async {
    let piece = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 70_000)
    while !isOver() {
      do {
        let writer = try store.asynchronous.writer(
          for: CacheKey("stalled/\(number)"), length: number % 2 == 0 ? 200_000 : nil)
        try await writer.write(piece)
        for _ in 0..<50 where !isOver() { try await Task.sleep(nanoseconds: 100_000_000) }
        await writer.abandon()
      } catch StoreError.noSpace {
      } catch {
        wrong.withLock { $0.append("a stalled client: \(error)") }
      }
    }
    running.subtract(1, ordering: .releasing)
  }

  /// Blocks until all have ended; returns their errors.
  func join() -> [String] {
    while running.load(ordering: .acquiring) > 0 { usleep(10_000) }
    return wrong.withLock { $0 }
  }
}

/// Two threads that write batches of more than half of the budget at the same time.
final class GiantBatches: @unchecked Sendable {
  private static let parts = 512
  private let store: CacheStore
  private let isOver: @Sendable () -> Bool
  private let wrong = Guarded<[String]>([])
  private let counts = Guarded((stored: 0, refused: 0))
  private var threads: [SystemThread] = []

  init(_ store: CacheStore, budget: Int, isOver: @escaping @Sendable () -> Bool) {
    self.store = store
    self.isOver = isOver
    threads = (0..<2).map { number in SystemThread { self.write(number, budget * 17 / 32 / GiantBatches.parts) } }
  }

  private func write(_ number: Int, _ byteCount: Int) {
    var lateTries = 0
    let values = (0..<GiantBatches.parts).map { _ in (try? Environment.posix.entropy.bytes(byteCount)) ?? [] }
    repeat {
      var batch = WriteBatch()
      for (part, value) in values.enumerated() { batch.put(value, for: CacheKey("giant/\(number)/\(part)")) }
      do {
        try store.write(batch)
        counts.withLock { $0.stored += 1 }
      } catch StoreError.noSpace {
        counts.withLock { $0.refused += 1 }
      } catch {
        wrong.withLock { $0.append("a giant batch: \(error)") }
      }
      usleep(50_000)
      if isOver() { lateTries += 1 }
      // On a busy machine all tries may have met the other's.
    } while !isOver() || counts.withLock({ $0.stored }) == 0 && lateTries < 20
  }

  /// Blocks until both have ended; returns their errors.
  func join() -> [String] {
    for thread in threads { thread.join() }
    let (stored, refused) = counts.withLock { $0 }
    emit("giant batches: \(stored) stored, \(refused) refused")
    if stored == 0 { return ["no giant batch was stored"] + wrong.withLock { $0 } }
    return wrong.withLock { $0 }
  }
}
