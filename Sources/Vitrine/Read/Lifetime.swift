/// The limits that a record sets to the lifetime of its entry.
struct Lifetime {
  /// When the entry expires: milliseconds since 1970, or since the last use if `isSliding`; 0 for never.
  let expiration: Int64
  let isSliding: Bool
  /// When the entry was put, in milliseconds since 1970.
  let written: Int64
}

extension RecordGlance {
  @inline(__always) var lifetime: Lifetime {
    Lifetime(expiration: expiration, isSliding: isSliding, written: written)
  }
}

extension RecordHeader {
  var lifetime: Lifetime {
    Lifetime(expiration: expiration, isSliding: flags.contains(.sliding), written: written)
  }
}
