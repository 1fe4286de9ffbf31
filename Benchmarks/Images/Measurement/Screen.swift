import Foundation
import VitrineImages

/// A frame buffer into which pictures are copied as for a screen. Used by one thread.
final class Screen {
  private let memory: UnsafeMutableRawBufferPointer

  /// Allocates memory for one picture, and populates its pages. Each picture is copied to the same place.
  init(byteCount: Int = 16 << 20) {
    memory = .allocate(byteCount: byteCount, alignment: 4096)
    memset(memory.baseAddress!, 1, byteCount)
  }

  deinit { memory.deallocate() }

  func show(_ bitmap: Bitmap) { bitmap.withPixels { show($0) } }
  func show(_ image: DecodedImage) { image.withPixels { show($0) } }

  private func show(_ pixels: RawSpan) {
    pixels.withUnsafeBytes { pixels in
      guard let source = pixels.baseAddress else { return }
      memcpy(memory.baseAddress!, source, min(pixels.count, memory.count))
    }
  }
}

extension RawSpan {
  /// Reads every byte at the speed of memory.
  func readAll() -> UInt64 {
    withUnsafeBytes { bytes in
      let words = bytes.assumingMemoryBound(to: UInt64.self)
      var sums = SIMD8<UInt64>()
      var index = 0
      while index + 8 <= words.count {
        sums &+= UnsafeRawPointer(words.baseAddress! + index).loadUnaligned(as: SIMD8<UInt64>.self)
        index += 8
      }
      return sums.wrappedSum()
    }
  }
}
