/// The 91 bytes of a key: a URL of 80 bytes, a zero, and a style of 10. Vitrine takes URL and style; the other engines
/// take all bytes. Valid until its buffer makes another key.
struct Key {
  static let urlByteCount = 80
  static let byteCount = urlByteCount + 1 + 10

  let start: UnsafeRawPointer

  var url: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: Key.urlByteCount) }

  var characters: UnsafePointer<CChar> { start.assumingMemoryBound(to: CChar.self) }
}

extension UnsafeRawBufferPointer {
  /// The start, as C interfaces take it.
  var characters: UnsafePointer<CChar>? { baseAddress?.assumingMemoryBound(to: CChar.self) }
}

enum KeyText {
  static let style = "square-100"
  /// The first 60 bytes of each URL. 16 hexadecimal digits and an ending follow.
  static let stem = "https://images.example.org/catalog/2026/products/photograph/"
  static let ending = ".jpg"
}

/// Memory in which one thread makes keys, one after another. A key is made anew for each call, so it is in the
/// processor's cache for every engine. The memory is never freed, so a key stays readable when its buffer has gone.
final class KeyBuffer {
  private let memory: UnsafeMutablePointer<UInt8>

  init() {
    memory = .allocate(capacity: Key.byteCount)
    let text = KeyText.stem + String(repeating: "0", count: 16) + KeyText.ending + "\0" + KeyText.style
    let bytes = Array(text.utf8)
    precondition(bytes.count == Key.byteCount, "a key has another length than its parts")
    memory.initialize(from: bytes, count: bytes.count)
  }

  /// The key with a number. Numbers are scattered, so that keys come in no order.
  @inline(__always)
  func key(_ number: Int) -> Key {
    Hexadecimal.write(Scatter.mix(UInt64(truncatingIfNeeded: number)), to: memory + 60)
    return Key(start: UnsafeRawPointer(memory))
  }
}
