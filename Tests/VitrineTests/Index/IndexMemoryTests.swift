#if os(Linux)
  import Foundation
  import Testing

  @testable import Vitrine

  @Suite struct IndexMemoryTests {
    /// The resident pages of this process.
    private static func residentByteCount() -> Int {
      let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
      return text.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 4096 } ?? 0
    }

    /// In a separate process, where no other test takes memory. Sanitizers take additional memory for each
    /// allocation.
    @Test(.disabled(if: RandomRuns.isSanitized)) func aMillionEntriesTakeAtMost32BytesEach() async {
      await #expect(processExitsWith: .success) {
        var keysWriter = KeyTableWriter()
        let keys = keysWriter.table
        var contentsWriter = ContentTableWriter()
        let contents = contentsWriter.table
        let before = Self.residentByteCount()
        let count = 1_000_000
        var random = SeededRandom(seed: 1)
        for index in 1...count {
          let hash = KeyHash(bits: random.next())
          guard keysWriter.insert(KeySlot(hash, Location(bits: UInt64(index)), []), hash),
            contentsWriter.insert(ContentHash(bits: random.next()), Location(bits: UInt64(index)))
          else { exit(2) }
        }
        let taken = withExtendedLifetime((keys, contents)) { Self.residentByteCount() - before }
        // Without a measure the test would be void.
        guard before > 0, taken > 20 * count else { exit(3) }
        exit(taken <= 32 * count ? 0 : 1)
      }
    }
  }
#endif
