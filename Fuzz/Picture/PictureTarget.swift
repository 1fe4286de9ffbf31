import FuzzSupport

@testable import PictureFiles

/// The file of a picture. The first byte says how it is decoded:
///
/// - bit 0: checksums of a PNG are put right
/// - bits 1 to 3: at least this many times 5 pixels in both directions; 0 for the full size
/// - bit 4: in exactly the bytes that are allowed for its pixels
@_cdecl("LLVMFuzzerTestOneInput")
public func testOnePicture(_ start: UnsafePointer<UInt8>?, _ byteCount: Int) -> CInt {
  var input = FuzzInput(start, byteCount)
  let mode = input.byte()
  var file = input.take(input.remaining)
  if mode & 1 == 1 { file = PNGFile.sealed(file) }
  // In memory that ends with them, so that a read past the end is found.
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
