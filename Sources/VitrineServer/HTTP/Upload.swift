import Vitrine

/// The body of a `PUT` that is arriving.
///
/// An object, so that the array of the value has one reference and grows in place. Used by one thread.
final class Upload {
  let request: StorageRequest
  private(set) var value: ArrivedValue
  /// The first error of the store. The rest of the body is skipped.
  private(set) var failure: StoreError?
  /// Bytes that have not arrived.
  private var left: Int

  init(_ request: StorageRequest, _ value: ArrivedValue) {
    self.request = request
    self.value = value
    left = request.byteCount
  }

  var isWhole: Bool { left == 0 }

  /// Takes bytes of the body, and returns their number.
  func take(_ input: UnsafeRawBufferPointer) -> Int {
    let count = min(left, input.count)
    if count > 0, failure == nil {
      do throws(StoreError) {
        try value.append(UnsafeRawBufferPointer(rebasing: input[..<count]), of: left)
      } catch { failure = error }
    }
    left -= count
    return count
  }
}
