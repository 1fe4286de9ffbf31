extension Segment {
  /// The most bytes of a file that a segment with this record alone takes.
  static func largestExtent(_ headByteCount: Int, _ payloadByteCount: Int, _ pageAligned: Bool) -> Int {
    SegmentHeader.byteCount + headByteCount + payloadByteCount + (pageAligned ? 4096 : 128)
  }
}
