import CVitrine

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The first words of the memory behind each handle of vitrine.h.
///
/// The kind distinguishes handles, so a handle of another kind is an error. A release clears the kind, so many uses of
/// released handles are errors too.
struct Handle {
  /// Random numbers, which other memory is unlikely to contain.
  enum Kind: UInt64 {
    case store = 0x9E1B_7C53_0D64_A2F1
    case value = 0xC4A8_2F96_71E3_5B0D
    case batch = 0x6D52_E8B1_94C7_3FA6
    case cursor = 0xB30F_4D7A_25E9_861C
  }

  var kind: UInt64
  /// A retained reference to the object of the handle.
  let object: UnsafeMutableRawPointer

  /// Makes a handle of an object. Throws if memory is short.
  static func make(_ kind: Kind, _ object: AnyObject) throws(Failure) -> UnsafeMutableRawPointer {
    guard let memory = malloc(MemoryLayout<Handle>.stride) else { throw .noMemory }
    memory.bindMemory(to: Handle.self, capacity: 1).initialize(
      to: Handle(kind: kind.rawValue, object: Unmanaged.passRetained(object).toOpaque()))
    return memory
  }

  /// Returns the object of a handle, without retaining it. Returns nil for NULL and for a handle of another kind.
  @inline(__always)
  static func object<Object: AnyObject>(_ handle: OpaquePointer?, _ kind: Kind, as: Object.Type) -> Unmanaged<Object>? {
    guard let handle, UInt(bitPattern: handle) & 7 == 0 else { return nil }
    let memory = UnsafePointer<Handle>(handle)
    guard memory.pointee.kind == kind.rawValue else { return nil }
    return Unmanaged<Object>.fromOpaque(memory.pointee.object)
  }

  /// Frees the memory of a handle and releases its object. Does nothing for NULL and for a handle of another kind.
  static func release<Object: AnyObject>(_ handle: OpaquePointer?, _ kind: Kind, as: Object.Type) {
    guard let handle, let object = object(handle, kind, as: Object.self) else { return }
    let memory = UnsafeMutablePointer<Handle>(handle)
    memory.pointee.kind = 0
    free(memory)
    object.release()
  }
}
