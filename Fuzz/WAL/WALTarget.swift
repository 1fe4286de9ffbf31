import FuzzSupport

@testable import Vitrine

/// Bytes for the readers of the log. The first byte says how they are read:
///
/// - bit 0: checksums are corrected
/// - bit 1: they are the content of one frame, after a byte with the number of its changes; otherwise they are
///   files of the log, each a head of 128 bytes and its frames after a length of two bytes, beside the rest of a
///   real store
/// - bit 2: files that the input does not give are those of the store; otherwise they are missing
/// - bits 3 and 4: if both are set, the store is opened and used, a hundred times as slow; otherwise they are only
///   read
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneLog(_ start: UnsafePointer<UInt8>?, _ byteCount: Int) -> CInt {
  var input = FuzzInput(start, byteCount)
  let mode = input.byte()
  if mode & 2 == 2 {
    AddressSpace.limited { FrameClaims.check(changeCount: Int(input.byte()), input.rest()) }
  } else {
    LogClaims.check(&input, seals: mode & 1 == 1, keepsOthers: mode & 4 == 4, opens: mode & 24 == 24)
  }
  return 0
}

@_cdecl("LLVMFuzzerInitialize")
public func initializeLog() -> CInt {
  Preparation.run { WALSeeds.all() }
  return 0
}
