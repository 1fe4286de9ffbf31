import FuzzSupport

@testable import Vitrine

/// The records of a real store one by one, and its segments without their zeros.
enum RecordSeeds {
  static func all() throws -> [[UInt8]] {
    var seeds: [[UInt8]] = []
    for moment in SmallStore.shared.moments {
      for (path, bytes) in moment.files {
        guard let name = path.split(separator: "/").last, let id = SegmentHeader.segment(ofFile: String(name)) else {
          continue
        }
        let file = MemoryFile(bytes)
        let store = SmallStore.shared.identity.store
        var end = SegmentHeader.byteCount
        _ = SegmentScanner(file: file, store: store, segment: id).records(byteCount: bytes.count) { record in
          guard record.header.byteCount < 4096 else { return }
          seeds.append([1] + bytes[record.offset..<min(record.offset + record.header.byteCount, bytes.count)])
          end = record.offset + record.header.byteCount
        }
        if end > SegmentHeader.byteCount, end < 16 << 10 { seeds.append([3] + bytes[..<end]) }
      }
    }
    return seeds + hostileLengths(seeds[0])
  }

  /// A record with impossible lengths.
  private static func hostileLengths(_ record: [UInt8]) -> [[UInt8]] {
    var seeds: [[UInt8]] = []
    for value: UInt64 in [(1 << 32) - 1, 1 << 63, 1 << 30, .max] {
      for field in [48, 56, 80, 88] {
        var bytes = record
        Seal.put(value, &bytes, at: 1 + field)
        seeds.append(bytes)
      }
    }
    return seeds
  }
}
