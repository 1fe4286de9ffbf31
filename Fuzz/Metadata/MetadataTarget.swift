import FuzzSupport

/// All properties of a key and an entry beside the bytes: URL, style, metadata, expiry, source, layout. The first
/// byte chooses their origin:
///
/// - bit 0: from the head of a record of a real store, with changed bytes; otherwise from a caller
/// - bit 1: for the record, whether its checksum is corrected
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneEntry(_ start: UnsafePointer<UInt8>?, _ byteCount: Int) -> CInt {
  var input = FuzzInput(start, byteCount)
  let mode = input.byte()
  if mode & 1 == 1 {
    StoredHead.check(&input, seals: mode & 2 == 2)
  } else {
    GivenEntry.check(&input)
  }
  return 0
}

@_cdecl("LLVMFuzzerInitialize")
public func initializeMetadata() -> CInt {
  Preparation.run { MetadataSeeds.all() }
  return 0
}
