import FuzzSupport

@testable import Vitrine

/// The logs of a real store without their zeros, and the frames in them one by one.
enum WALSeeds {
  /// A file from its bytes in an input.
  static func expanded(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.count > WALFileHeader.byteCount else { return bytes }
    let zeros = [UInt8](repeating: 0, count: WALFileHeader.frameStart - WALFileHeader.byteCount)
    let used = bytes[..<WALFileHeader.byteCount] + zeros + bytes[WALFileHeader.byteCount...]
    return used + [UInt8](repeating: 0, count: max(0, CacheFormat.smallestWALFile - used.count))
  }

  private static func shortened(_ file: [UInt8]) -> [UInt8] {
    let end = min(8192, (file.lastIndex { $0 != 0 } ?? 0) + 1)
    return Array(file[..<WALFileHeader.byteCount] + file[WALFileHeader.frameStart..<max(end, WALFileHeader.frameStart)])
  }

  static func all() -> [[UInt8]] {
    var seeds: [[UInt8]] = []
    for moment in SmallStore.shared.moments {
      let files = moment.files.filter { $0.path.hasSuffix(".wal") }.map(\.bytes)
      for mode: UInt8 in [0, 1, 5, 25, 29] {
        var writer = InputWriter()
        writer.append(mode)
        for file in files { writer.appendBlock(shortened(file)) }
        seeds.append(writer.bytes)
      }
      for file in files { seeds += frames(file) }
    }
    return seeds + changes()
  }

  /// A frame for each kind of change, with another number in each field.
  private static func changes() -> [[UInt8]] {
    func place(_ number: Int) -> Location { Location(slot: number & 1, offset: (2 + number) * Unit.byteCount) }
    let displaced = Change.Displaced(
      location: place(3), headUnits: 4, logicalByteCount: 500, content: ContentHash(bits: 6), contentLocation: place(7),
      payloadUnits: 8)
    var put = Change.Put(
      hash: KeyHash(bits: 9), location: place(10), headUnits: 2, payloadUnits: 3, logicalByteCount: 130,
      content: ContentHash(bits: 11), contentLocation: place(12), displaced: nil)
    var changes: [Change] = [.put(put)]
    put.displaced = displaced
    put.expires = true
    changes += [
      .put(put), .remove(KeyHash(bits: 13), displaced), .removeAll, .segmentMade(slot: 2, id: 14, byteCount: 1 << 16),
      .segmentOpened(slot: 1, stream: .bitmaps, firstSequence: 15), .segmentSealed(slot: 1, byteCount: 4096),
      .segmentRetired(slot: 1),
    ]
    for (key, content) in [
      (KeyHash(bits: 16), nil), (nil, ContentHash(bits: 17)), (KeyHash(bits: 16), ContentHash(bits: 17)),
    ] {
      changes.append(
        .moved(
          Change.Move(
            from: place(18), to: place(19), key: key, content: content, headUnits: 5, copiedHeadUnits: 6,
            payloadUnits: 7)))
    }
    return changes.map { change in
      let buffer = ByteBuffer()
      change.encode(into: buffer)
      return [2, 1] + Array(buffer.bytes)
    }
  }

  private static func frames(_ file: [UInt8]) -> [[UInt8]] {
    guard let header = file.withUnsafeBytes({ WALFileHeader($0) }) else { return [] }
    var seeds: [[UInt8]] = []
    var offset = WALFileHeader.frameStart
    while offset < file.count {
      let rest = Array(file[offset...])
      guard let frame = rest.withUnsafeBytes({ Frame.parse($0, at: offset, seed: header.seed) }) else { break }
      if frame.byteCount < 4096 {
        let content = Array(rest[Frame.headerByteCount..<frame.byteCount])
        seeds += ([content] + hostileLengths(content)).map { [2, UInt8(truncatingIfNeeded: frame.changeCount)] + $0 }
      }
      offset += frame.byteCount
    }
    return seeds
  }

  /// The first change with a number, units and sizes too large for any frame.
  private static func hostileLengths(_ content: [UInt8]) -> [[UInt8]] {
    [(1 << 32) - 1, 1 << 30, 1 << 63].map { (length: UInt64) in
      var bytes = content
      Seal.put(Seal.word(bytes, 0) & 0xFFFF_FFFF | length << 32, &bytes, at: 0)
      Seal.put(length >> 32 == 0 ? 1 << 25 : length, &bytes, at: 24)
      return bytes
    }
  }
}
