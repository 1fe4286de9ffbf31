import FuzzSupport

@testable import Vitrine

/// Bytes for the reader of checkpoints. The first byte says how they are read:
///
/// - bit 0: checksums are corrected
/// - bit 1: the bytes are words of a body, of one to nine bytes each, after the counts; otherwise they are a file:
///   its used head, and its body after that
/// - bit 2: for a file, whether zeros fill its last block
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneCheckpoint(_ start: UnsafePointer<UInt8>?, _ byteCount: Int) -> CInt {
  var input = FuzzInput(start, byteCount)
  let mode = input.byte()
  AddressSpace.limited {
    if mode & 2 == 2 {
      CheckpointClaims.checkWords(&input)
    } else {
      CheckpointClaims.checkFile(CheckpointSeeds.expanded(input.rest(), isWhole: mode & 4 == 4), seals: mode & 1 == 1)
    }
  }
  return 0
}

@_cdecl("LLVMFuzzerInitialize")
public func initializeCheckpoint() -> CInt {
  Preparation.run { CheckpointSeeds.all() }
  return 0
}
