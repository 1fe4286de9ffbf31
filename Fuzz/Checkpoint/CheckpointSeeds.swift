import FuzzSupport

@testable import Vitrine

/// The checkpoints of a real store, without the zeros between head and body.
enum CheckpointSeeds {
  /// Of a head; the rest of its 4096 bytes is zeros.
  private static let used = 1024

  /// A file from an input.
  static func expanded(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.count > used else { return bytes }
    return bytes[..<used] + [UInt8](repeating: 0, count: CheckpointHeader.byteCount - used) + bytes[used...]
  }

  private static func shortened(_ file: [UInt8]) -> [UInt8] {
    let words = Int(Seal.word(file, CheckpointHeader.byteCount + 8) >> 32)
    let end = min(file.count, CheckpointHeader.byteCount + 16 + words * 8)
    return Array(file[..<used] + file[CheckpointHeader.byteCount..<end])
  }

  static func all() -> [[UInt8]] {
    var seeds: [[UInt8]] = []
    for moment in SmallStore.shared.moments {
      for (path, bytes) in moment.files where path.hasSuffix(".checkpoint") && bytes.contains(where: { $0 != 0 }) {
        let short = shortened(bytes)
        seeds += [[0] + short, [1] + short]
        // Counts that no file has, and a body of as many words.
        for (field, words) in [(80, 2), (88, 1), (104, 2)] {
          for count: UInt64 in [(1 << 32) - 1, 1 << 38, 1 << 63] {
            var hostile = short
            Seal.put(count, &hostile, at: field)
            let total = Seal.word(short, 120) &- Seal.word(short, field) &* UInt64(words) &+ count &* UInt64(words)
            Seal.put(total, &hostile, at: 120)
            seeds.append([1] + hostile)
          }
        }
      }
    }
    return seeds + words()
  }

  /// Bodies as words, with nothing in them, and with times at both ends of the numbers.
  private static func words() -> [[UInt8]] {
    let noEntries = [UInt8](repeating: 0, count: KeyTable.shardCount + ContentTable.shardCount)
    var seeds: [[UInt8]] = [[2, 1, 1, 1, 0, 0] + [UInt8](repeating: 1, count: 300)]
    for times: [UInt64] in [[1 << 40, 1 << 41, 1 << 42], [1 << 62, 1 << 40, 1 << 41]] {
      var writer = InputWriter()
      writer.append([2, 0, 0, 0, 0, UInt8(times.count), 9, 0, 0, 0] + noEntries)
      for (stamp, time) in times.enumerated() {
        writer.append([UInt8(stamp + 1), 0xFF])
        writer.append(time)
      }
      seeds.append(writer.bytes)
    }
    return seeds
  }
}
