import FuzzSupport

@testable import Vitrine
@testable import VitrineSimulation

/// A real small store at some moment of its life, with mutated files; see ``Mutation``. The first byte chooses the
/// moment, the second how the files are treated and opened:
///
/// - bit 0: checksums of the changed parts are corrected
/// - bits 1 and 2: `verification`
/// - bit 3: `reads: .copied`
/// - bit 4: `whenUnusable: .recreate`
/// - bit 5: repaired before it is opened
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneImage(_ start: UnsafePointer<UInt8>?, _ byteCount: Int) -> CInt {
  var input = FuzzInput(start, byteCount)
  let moment = Int(input.byte()) % SmallStore.shared.moments.count
  let mode = input.byte()
  var image = StoreImage(moment: moment, seals: mode & 1 == 1)
  while !image.isFull, let mutation = Mutation.next(&input) { image.make(mutation, &input) }
  ImageClaims(image: image, mode: mode).check()
  return 0
}

@_cdecl("LLVMFuzzerInitialize")
public func initializeImage() -> CInt {
  Preparation.run { ImageSeeds.all() }
  return 0
}
