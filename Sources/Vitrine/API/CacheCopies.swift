// Gets that return copies.
extension CacheStore {
  /// Returns a copy of an entry's bytes, or nil on a miss. Costs a get and a copy.
  public func bytes(_ url: String, style: Style = .original, source: Source? = nil) -> [UInt8]? {
    get(url, style: style, source: source) { span in span.withUnsafeBytes { Array($0) } }
  }

  /// Returns a copy of the bytes of a key's entry, or nil on a miss. Costs a get and a copy.
  public func bytes(_ key: CacheKey, source: Source? = nil) -> [UInt8]? {
    get(key, source: source) { span in span.withUnsafeBytes { Array($0) } }
  }

  /// Returns a copy of a part of a value, or nil on a miss. The range is cut at the ends of the value.
  ///
  /// For seeking in large values, and for HTTP ranges. If a value above 1 MiB has had no read since opening, the call
  /// reads and checks only the pieces of 256 KiB that overlap the range. A value that is stored compressed is
  /// decompressed from its start to the end of the range, in at most 8 MiB of memory besides the result; if its first
  /// read finds less than 1 MiB of compressed bytes, to its end. Counts as a use. Costs a get and a copy otherwise.
  /// Thread-safe.
  public func bytes(_ key: CacheKey, range: Range<Int>, source: Source? = nil) -> [UInt8]? {
    let part = key.url.withUnsafeBytes { url in
      read { $0.reads.ranges.read(range, of: url, key.style, source: source) }
    }
    if let part { return part }
    return get(key, source: source) { span in
      span.withUnsafeBytes { Array($0[range.clamped(to: 0..<$0.count)]) }
    }
  }
}
