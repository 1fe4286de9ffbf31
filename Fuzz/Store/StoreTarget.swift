import FuzzSupport

@testable import Vitrine

/// Bytes for the small files of fixed shape. The first byte says how they are read:
///
/// - bit 0: checksums are corrected
/// - bits 1 and 2: the file. 0 is `STORE` as its two copies of 512 bytes, 1 the whole of `STORE`, 2 `COUNTERS`, 3
///   `LOCK`
/// - bit 3: if set, only the parser runs. Otherwise, a store with the file is opened and used, which is a thousand
///   times as slow
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneStoreFile(_ start: UnsafePointer<UInt8>?, _ byteCount: Int) -> CInt {
  var input = FuzzInput(start, byteCount)
  let mode = input.byte()
  let seals = mode & 1 == 1
  let opens = mode & 8 == 0
  switch mode >> 1 & 3 {
  case 0: StoreFileClaims.checkStoreFile(StoreSeeds.expanded(input.rest()), seals: seals, opens: opens)
  case 1: StoreFileClaims.checkStoreFile(input.rest(), seals: seals, opens: opens)
  case 2: StoreFileClaims.checkCounters(input.rest(), seals: seals, opens: opens)
  default: StoreFileClaims.checkLock(input.rest(), opens: opens)
  }
  return 0
}

@_cdecl("LLVMFuzzerInitialize")
public func initializeStore() -> CInt {
  Preparation.run { StoreSeeds.all() }
  return 0
}
