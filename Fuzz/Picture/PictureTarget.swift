import FuzzSupport
import PictureFiles

/// The file of a picture. The first byte says how it is decoded:
///
/// - bit 0: checksums of a PNG are put right
/// - bits 1 to 3: at least so many times 5 pixels in both directions; 0 for as large as it is
/// - bit 4: in bytes that are all that is allowed for its pixels
@_cdecl("LLVMFuzzerTestOneInput")
public func testOnePicture(_ start: UnsafePointer<UInt8>?, _ byteCount: Int) -> CInt {
  var input = FuzzInput(start, byteCount)
  let mode = input.byte()
  var file = input.take(input.remaining)
  if mode & 1 == 1 { file = PNGFile.sealed(file) }
  // In memory that ends where they end, so that a look behind them is found.
  let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: file.count, alignment: 1)
  defer { bytes.deallocate() }
  bytes.copyBytes(from: file)
  PictureClaims(bytes: UnsafeRawBufferPointer(bytes), mode: mode).check()
  return 0
}

@_cdecl("LLVMFuzzerInitialize")
public func initializePicture() -> CInt {
  Preparation.run { try PictureSeeds.all() }
  return 0
}
