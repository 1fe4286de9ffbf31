import FuzzSupport

/// All that a key and an entry carry beside the bytes: URL, style, metadata, expiry, source, layout. The first byte
/// says where they come from:
///
/// - bit 0: from the head of a record of a real store, in which bytes were changed; else from a caller
/// - bit 1: of the record, whether its checksum is put right
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
