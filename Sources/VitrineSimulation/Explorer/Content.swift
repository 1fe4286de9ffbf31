#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// What an entry has to say, apart from the times that it tells.
package struct Content: Equatable, Sendable {
  package var bytes: [UInt8]
  package var metadata: [UInt8] = []
  /// Whether time alone may make a miss of it.
  package var mayExpire = false

  package init(_ bytes: [UInt8], metadata: [UInt8] = [], mayExpire: Bool = false) {
    self.bytes = bytes
    self.metadata = metadata
    self.mayExpire = mayExpire
  }

  /// By one comparison of memory: megabytes are compared for each crash, also in debug builds.
  package static func == (a: Content, b: Content) -> Bool { same(a.bytes, b.bytes) && same(a.metadata, b.metadata) }

  private static func same(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    a.count == b.count
      && a.withUnsafeBytes { a in
        b.withUnsafeBytes { b in a.count == 0 || memcmp(a.baseAddress!, b.baseAddress!, a.count) == 0 }
      }
  }
}
