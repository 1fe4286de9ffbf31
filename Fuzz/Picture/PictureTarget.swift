import FuzzSupport

@testable import PictureFiles

/// The file of a picture. The first byte says how it is decoded:
///
/// - bit 0: checksums of a PNG are corrected
/// - bits 1 to 3: the least width and height, in units of 5 pixels; 0 for the full size
/// - bit 4: the limit of memory is 8192 bytes, not 16 MiB
@_cdecl("LLVMFuzzerTestOneInput")
public func testOnePicture(_ start: UnsafePointer<UInt8>?, _ byteCount: Int) -> CInt {
  var input = FuzzInput(start, byteCount)
  let mode = input.byte()
  var file = input.take(input.remaining)
  if mode & 1 == 1 { file = PNGFile.sealed(file) }
  // The memory ends with the bytes, so Address Sanitizer finds a read past the end.
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
