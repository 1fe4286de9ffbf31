/// A struct of vitrine.h that may grow. It begins with its size in the caller's header.
///
/// Structs are copied by bytes, so a misaligned pointer of a caller does no harm.
protocol SizedStruct {
  /// Makes a struct of zeros.
  init()
  /// The size of the struct in the first version of the header.
  static var firstSize: Int { get }
  var size: Int { get set }
}

extension SizedStruct {
  /// The limit of a size. A larger one is a mistake, such as memory that was not initialized.
  private static var largestSize: Int { 4096 }

  /// Copies a struct of options. Returns zeros for NULL. Throws if the size is wrong, or if the caller has set options
  /// that this library does not know.
  init(options pointer: UnsafePointer<Self>?) throws(Failure) {
    self.init()
    guard let pointer else { return }
    let bytes = UnsafeRawBufferPointer(start: pointer, count: try Self.size(at: pointer))
    let known = min(bytes.count, MemoryLayout<Self>.size)
    guard bytes[known...].allSatisfy({ $0 == 0 }) else {
      throw .invalid("a \(Self.self) has options that this version of the library does not know")
    }
    withUnsafeMutableBytes(of: &self) { $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<known])) }
  }

  /// Returns the size in a caller's struct. Throws if it is out of range.
  @discardableResult
  static func size(at pointer: UnsafeRawPointer) throws(Failure) -> Int {
    let size = pointer.loadUnaligned(as: Int.self)
    guard (firstSize...largestSize).contains(size) else {
      throw .invalid("the size in a \(Self.self) is \(size), not sizeof(\(Self.self))")
    }
    return size
  }

  /// Throws if a result cannot be written to `pointer`. NULL is allowed.
  static func check(_ pointer: UnsafeMutablePointer<Self>?) throws(Failure) {
    if let pointer { try size(at: pointer) }
  }

  /// Copies the struct to the caller's memory, up to the caller's size. Bytes beyond this struct become zero.
  func write(to pointer: UnsafeMutablePointer<Self>?) throws(Failure) {
    guard let pointer else { return }
    var result = self
    result.size = try Self.size(at: pointer)
    let target = UnsafeMutableRawPointer(pointer)
    let known = min(result.size, MemoryLayout<Self>.size)
    if known < result.size {
      (target + known).initializeMemory(as: UInt8.self, repeating: 0, count: result.size - known)
    }
    withUnsafeBytes(of: &result) { target.copyMemory(from: $0.baseAddress!, byteCount: known) }
  }
}
