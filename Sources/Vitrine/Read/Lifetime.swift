/// What limits the time for which an entry is given out, as its record says.
struct Lifetime {
  /// 0 for never; milliseconds since 1970, or since the last use when `isSliding`.
  let expiration: Int64
  let isSliding: Bool
  /// Milliseconds since 1970.
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
