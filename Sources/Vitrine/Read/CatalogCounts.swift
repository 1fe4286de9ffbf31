extension Catalog {
  func takeCounts(of other: Catalog) {
    keyCount = other.keyCount
    blobCount = other.blobCount
    logicalByteCount = other.logicalByteCount
    nextSegment = max(nextSegment, other.nextSegment)
  }
}
