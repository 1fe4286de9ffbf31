import FuzzSupport

@testable import Vitrine

/// The checkpoints of a real store, without the zeros between head and body.
enum CheckpointSeeds {
  /// Of a head; the rest of its 4096 bytes is zeros.
  private static let used = 1024

  /// A file from an input; `isWhole`: zeros fill the last block, without which counts of more words are not
  /// examined.
  static func expanded(_ bytes: [UInt8], isWhole: Bool) -> [UInt8] {
    guard bytes.count > used else { return bytes }
    let file = bytes[..<used] + [UInt8](repeating: 0, count: CheckpointHeader.byteCount - used) + bytes[used...]
    let block = CheckpointHeader.blockByteCount
    return file + [UInt8](repeating: 0, count: isWhole ? (block - (bytes.count - used) % block) % block : 0)
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
        seeds += [[0] + short, [1] + short, [0] + withOneUnitMore(short), [0] + ofAnEarlierBuild(short)]
        for count in hostileCounts { seeds += hostile(short, count) }
      }
    }
    let first = shortened(ofTheFirstFormat())
    return seeds + [[0] + first] + hostileCounts.flatMap { hostile(first, $0) } + words()
  }

  private static let hostileCounts: [UInt64] = [10_000_000, (1 << 32) - 1, 1 << 38, 1 << 63]

  /// A checkpoint without entries. Its body has the index, which a root has in the area.
  private static func ofTheFirstFormat() -> [UInt8] {
    var header = CheckpointClaims.emptyHeader
    header.version = CacheFormat.firstVersion
    header.bodyWordCount = CheckpointHeader.bodyWords(keys: 0, blobs: 0, segments: 0, largeCounts: 0, useTimes: 0)
    let file = MemoryFile()
    let writer = CheckpointBodyWriter(file: file, store: header.identity.store, generation: header.generation)
    for _ in 0..<header.bodyWordCount { writer.append(0) }
    always("memory") {
      try writer.finish()
      try file.write(header.encoded(), at: 0)
    }
    return file.bytes
  }

  /// Only the checksum of its block contradicts it.
  private static func withOneUnitMore(_ short: [UInt8]) -> [UInt8] {
    var bytes = short
    let liveUnits = used + CheckpointHeader.blockHeaderByteCount + 5 * 8
    Seal.put(Seal.word(bytes, liveUnits) + 1, &bytes, at: liveUnits)
    return bytes
  }

  /// Without the checksum of the first sector.
  private static func ofAnEarlierBuild(_ short: [UInt8]) -> [UInt8] {
    var bytes = short
    Seal.put(0, &bytes, at: 160)
    return bytes
  }

  /// Impossible counts: in the head, with a body of as many words, and in the body.
  private static func hostile(_ short: [UInt8], _ count: UInt64) -> [[UInt8]] {
    let firstWord = used + CheckpointHeader.blockHeaderByteCount
    let segments = Int(Seal.word(short, 96)) * CheckpointHeader.segmentWords
    let keys = Int(Seal.word(short, 80)) * 2 + KeyTable.shardCount
    return [(80, 2, segments), (88, 1, segments + keys), (104, 2, segments)].map { field, words, place in
      var bytes = short
      Seal.put(count, &bytes, at: field)
      let total = Seal.word(short, 120) &- Seal.word(short, field) &* UInt64(words) &+ count &* UInt64(words)
      Seal.put(total, &bytes, at: 120)
      Seal.put(UInt64(CheckpointHeader.wordsPerBlock) << 32, &bytes, at: used + 8)
      Seal.put(count, &bytes, at: firstWord + place * 8)
      return [5] + bytes
    }
  }

  /// Bodies as words: empty ones, and ones with the extreme times.
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
