import Vitrine

/// Feeds arbitrary bytes to the parser of segment records: whatever they say, it returns, and never traps.
///
/// libFuzzer brings `main` and calls this again and again with bytes that reach new code.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneRecord(_ start: UnsafePointer<UInt8>?, _ byteCount: Int) -> CInt {
  let bytes = UnsafeRawBufferPointer(start: start, count: byteCount)
  _ = Digest(of: bytes)
  return 0
}
