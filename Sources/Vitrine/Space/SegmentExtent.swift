extension Segment {
  /// The largest number of file bytes that a segment with only this record takes.
  static func largestExtent(_ headByteCount: Int, _ payloadByteCount: Int, _ pageAligned: Bool) -> Int {
    SegmentHeader.byteCount + headByteCount + payloadByteCount + (pageAligned ? 4096 : 128)
  }
}
