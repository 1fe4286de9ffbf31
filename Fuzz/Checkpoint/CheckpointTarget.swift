import Vitrine

/// Feeds arbitrary bytes to the readers of checkpoints and of `STORE`, as they are and as the words of a body whose
/// checksums are right. What can be read can be written, and reads the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneCheckpoint(_ start: UnsafePointer<UInt8>?, _ byteCount: Int) -> CInt {
  let bytes = UnsafeRawBufferPointer(start: start, count: byteCount)
  _ = StoreIdentity.read(bytes)
  _ = CheckpointHeader(bytes)
  var reader = ByteReader(bytes)
  guard let segments = reader.next(UInt8.self), let keys = reader.next(UInt8.self),
    let blobs = reader.next(UInt8.self), let largeCounts = reader.next(UInt8.self)
  else { return 0 }
  var header = emptyHeader()
  header.segmentCount = Int(segments)
  header.keyCount = Int(keys)
  header.blobCount = Int(blobs)
  header.largeCountCount = Int(largeCounts)
  header.bodyWordCount = CheckpointHeader.bodyWords(
    keys: Int(keys), blobs: Int(blobs), segments: Int(segments), largeCounts: Int(largeCounts))
  let file = MemoryFile()
  let writer = CheckpointBodyWriter(file: file, store: header.identity.store, generation: header.generation)
  for _ in 0..<header.bodyWordCount { writer.append(word(&reader)) }
  do throws(SystemError) {
    try writer.finish()
    guard let read = header.encoded().withUnsafeBytes({ CheckpointHeader($0) }) else { return 0 }
    precondition(read == header)
    guard let catalog = Catalog.read(from: file, header: read) else { return 0 }
    try expectSame(catalog, header)
  } catch {
    preconditionFailure("memory cannot fail")
  }
  return 0
}

/// Most words of a body are small: one byte says how many follow.
private func word(_ reader: inout ByteReader) -> UInt64 {
  guard let count = reader.next(UInt8.self) else { return 0 }
  switch count {
  case 0..<64: return UInt64(count)
  case 64..<128: return UInt64(reader.next(UInt16.self) ?? 0)
  default: return reader.next(UInt64.self) ?? 0
  }
}

private func expectSame(_ catalog: Catalog, _ header: CheckpointHeader) throws(SystemError) {
  var again = header
  let file = MemoryFile()
  try catalog.write(to: file, header: &again) { catalog.segments.vouchedUpTo($0.slot) }
  precondition(again.keyCount == header.keyCount && again.blobCount == header.blobCount)
  guard let read = Catalog.read(from: file, header: again) else {
    preconditionFailure("a checkpoint just written is not read")
  }
  precondition(read.keyCount == catalog.keyCount && read.blobCount == catalog.blobCount)
}

private func emptyHeader() -> CheckpointHeader {
  CheckpointHeader(
    isClean: false, generation: 3, position: WALPosition(use: 1, offset: 512, sequence: 1), opening: 1,
    nextRecord: 1,
    made: 0, nextSegment: 1,
    identity: StoreIdentity(
      store: StoreID(low: 1, high: 2), secret: [UInt8](repeating: 3, count: 192), byteBudget: 1 << 20,
      entryBudget: 0, segmentByteCount: 0, walFileByteCount: 1 << 15, durability: .buffered,
      compressionLevel: 1))
}
