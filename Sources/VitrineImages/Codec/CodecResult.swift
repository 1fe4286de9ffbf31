import CImageCodecs

extension vitrine_image_result {
  /// Throws the error of a C call. `limits` are the limits of that call; `size` is the size in the header.
  func check(_ format: ImageFormat, _ limits: DecodingLimits, _ size: PixelSize) throws(ImageError) {
    switch status {
    case VITRINE_IMAGE_OK: return
    case VITRINE_IMAGE_TRUNCATED: throw .truncated(format)
    case VITRINE_IMAGE_UNSUPPORTED: throw .unsupportedFormat(found: "\(format): \(reason)")
    case VITRINE_IMAGE_TOO_LARGE: throw .tooLarge(width: size.width, height: size.height, limit: limits.memoryLimit)
    case VITRINE_IMAGE_TOO_LATE: throw .tookTooLong(milliseconds: limits.milliseconds)
    case VITRINE_IMAGE_NO_LIBRARY: throw .noDecoder(reason: reason)
    case VITRINE_IMAGE_NO_MEMORY:
      throw .outOfMemory(byteCount: Int(exactly: Double(size.width) * Double(size.height) * 4) ?? .max)
    default: throw .corrupt(format, reason: reason)
    }
  }

  var reason: String { withUnsafePointer(to: self) { String(cString: vitrine_image_reason($0)) } }
}

extension vitrine_image_limits {
  init(_ limits: DecodingLimits, workingByteCount: Int) {
    self.init(working_bytes: max(0, workingByteCount), milliseconds: UInt64(max(0, limits.milliseconds)))
  }
}

extension vitrine_image_pixels {
  init(_ bytes: UnsafeMutableRawBufferPointer, bytesPerRow: Int, _ size: PixelSize) {
    self.init(
      bytes: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes_per_row: bytesPerRow,
      width: UInt32(size.width), height: UInt32(size.height))
  }
}
