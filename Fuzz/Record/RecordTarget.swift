import FuzzSupport

@testable import Vitrine

/// Bytes for the parsers of segments. For any bytes, every range that a record names lies within the record, and no
/// parser traps. The first byte says how they are read:
///
/// - bit 0: checksums and digests are corrected, so that the content is accepted
/// - bit 1: the bytes are a whole segment file with head and records, not one record
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneRecord(_ start: UnsafePointer<UInt8>?, _ byteCount: Int) -> CInt {
  var input = FuzzInput(start, byteCount)
  let mode = input.byte()
  var bytes = input.rest()
  AddressSpace.limited {
    if mode & 2 == 0 {
      bytes.withUnsafeBytes { HeadClaims.check($0) }
      bytes = segmentHead + bytes
    }
    if mode & 1 == 1 { Seal.segment(&bytes, store: SegmentClaims.store, id: SegmentClaims.segment) }
    SegmentClaims.check(bytes)
  }
  return 0
}

private let segmentHead = SegmentHeader(
  stream: .originals, store: SegmentClaims.store, segment: SegmentClaims.segment, fileByteCount: 1 << 16, opening: 1,
  made: 0
).encoded()

@_cdecl("LLVMFuzzerInitialize")
public func initializeRecord() -> CInt {
  Preparation.run { try RecordSeeds.all() }
  return 0
}
