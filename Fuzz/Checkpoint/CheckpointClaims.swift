import FuzzSupport

@testable import Vitrine

/// The claims about any bytes as a checkpoint: a readable checkpoint can be written again, and then reads the same.
enum CheckpointClaims {
  static func checkFile(_ bytes: [UInt8], seals: Bool) {
    var bytes = bytes
    if seals { Seal.checkpoint(&bytes) }
    guard let header = bytes.withUnsafeBytes({ CheckpointHeader($0) }) else { return }
    let again = header.encoded()
    claim(again.withUnsafeBytes { CheckpointHeader($0) } == header, "a head is another once it is written")
    var sealed = bytes
    Seal.checkpoint(&sealed)
    // Earlier builds have left the checksum of the first sector out.
    if bytes[160..<168].allSatisfy({ $0 == 0 }) { sealed.replaceSubrange(160..<168, with: bytes[160..<168]) }
    claim(sealed.prefix(1024) == bytes.prefix(1024), "a head with a wrong checksum is taken")
    guard let index = CatalogWriter.read(from: MemoryFile(bytes), header: header) else { return }
    let used = header.leastFileByteCount
    claim(sealed.prefix(used) == bytes.prefix(used), "a block with a wrong checksum is taken")
    // A root has the index in the area.
    if !header.isRoot { check(index, header) }
  }

  static func checkWords(_ input: inout FuzzInput) {
    // A checkpoint of the first format has the index in its body.
    var header = emptyHeader
    header.version = CacheFormat.firstVersion
    header.segmentCount = Int(input.byte())
    header.keyCount = Int(input.byte())
    header.blobCount = Int(input.byte())
    header.largeCountCount = Int(input.byte())
    header.useTimeCount = Int(input.byte())
    header.recency = input.next() & ((1 << 62) - 1)
    header.bodyWordCount = CheckpointHeader.bodyWords(
      keys: header.keyCount, blobs: header.blobCount, segments: header.segmentCount,
      largeCounts: header.largeCountCount, useTimes: header.useTimeCount)
    let file = MemoryFile()
    let writer = CheckpointBodyWriter(file: file, store: header.identity.store, generation: header.generation)
    for _ in 0..<header.bodyWordCount { writer.append(word(&input)) }
    always("memory") { try writer.finish() }
    guard let read = header.encoded().withUnsafeBytes({ CheckpointHeader($0) }) else {
      refute("a head just written is not read")
    }
    claim(read == header, "a head is another once it is written")
    guard let index = CatalogWriter.read(from: file, header: read) else { return }
    check(index, header)
  }

  /// Most words of a body are small: one byte says how many follow.
  private static func word(_ input: inout FuzzInput) -> UInt64 {
    let count = input.byte()
    switch count {
    case 0..<64: return UInt64(count)
    case 64..<128: return UInt64(input.next(UInt16.self))
    default: return input.next(UInt64.self)
    }
  }

  private static func check(_ index: consuming CatalogWriter, _ header: CheckpointHeader) {
    var index = index
    let table = index.catalog.segments
    claim(index.keyCount == header.keyCount && index.blobCount == header.blobCount, "counts of a checkpoint")
    var again = header
    let file = MemoryFile()
    always("memory") { try index.write(to: file, header: &again) { table.vouchedUpTo($0.slot) } }
    claim(again.keyCount == header.keyCount && again.blobCount == header.blobCount, "counts once it is written")
    guard let read = CatalogWriter.read(from: file, header: again) else {
      refute("a checkpoint just written is not read")
    }
    claim(read.keyCount == index.keyCount && read.blobCount == index.blobCount, "counts once it is read again")
    use(&index)
  }

  /// Uses it like an open store.
  private static func use(_ index: inout CatalogWriter) {
    let catalog = index.catalog
    let now: Int64 = 1_700_000_000_000
    for shard in 0..<KeyTable.shardCount {
      for entry in catalog.keys.copy(shard: shard).prefix(8) {
        _ = catalog.useTimes.withLock { $0.time(of: entry.stamp, at: catalog.keys.clock.now) }
        _ = catalog.record(at: entry.location, checks: true)
      }
    }
    catalog.useTimes.withLock {
      for step in 0..<3 { $0.note(stamp: catalog.keys.clock.now &+ UInt32(step), time: now + Int64(step) * 2000) }
    }
    for slot in 0..<index.segments.all.count { _ = index.dropEntries(slot: slot, from: 0) }
  }

  static let emptyHeader = CheckpointHeader(
    isClean: false, generation: 3, position: WALPosition(use: 1, offset: 512, sequence: 1), opening: 1, nextRecord: 1,
    made: 0, nextSegment: 1, identity: SmallStore.shared.identity)
}
