import Vitrine

/// A value that arrives in pieces, and the line end after it.
///
/// An object, so that the array of the value has one reference and grows in place. Used by one thread.
final class Arrival {
  enum Purpose {
    case storage(StorageRequest, StorageAnswer)
    case authentication
  }

  let purpose: Purpose
  private(set) var value: ArrivedValue
  /// The first error of the store. After it, the rest of the value is skipped.
  private(set) var failure: StoreError?
  /// The number of bytes of the value that have not arrived.
  private var left: Int
  /// The two bytes after the value, which should be a line end.
  private var end: (UInt8?, UInt8?) = (nil, nil)

  init(_ purpose: Purpose, _ value: ArrivedValue, byteCount: Int) {
    self.purpose = purpose
    self.value = value
    left = byteCount
  }

  var isWhole: Bool { end.1 != nil }
  var endsLine: Bool { end.0 == Byte.carriageReturn && end.1 == Byte.lineFeed }

  /// Takes bytes of the value and of the line end after it. Returns the number of bytes taken.
  func take(_ input: UnsafeRawBufferPointer) -> Int {
    var taken = min(left, input.count)
    if taken > 0 { append(UnsafeRawBufferPointer(rebasing: input[..<taken])) }
    left -= taken
    while left == 0, taken < input.count, end.1 == nil {
      if end.0 == nil { end.0 = input[taken] } else { end.1 = input[taken] }
      taken += 1
    }
    return taken
  }

  private func append(_ bytes: UnsafeRawBufferPointer) {
    guard failure == nil else { return }
    do throws(StoreError) { try value.append(bytes, of: left) } catch { failure = error }
  }
}
