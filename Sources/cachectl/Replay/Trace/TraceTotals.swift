/// Sums over a trace, from one pass. Holds the id of each distinct object in memory, and no request.
struct TraceTotals {
  private(set) var requestCount = 0
  /// Bytes of all distinct objects, each with the size of its first request.
  private(set) var distinctByteCount = 0
  private var objects: Set<UInt64> = []

  var objectCount: Int { objects.count }

  init(_ trace: Trace, progress: Progress) throws {
    try trace.readAll { request, reader in
      requestCount += 1
      if objects.insert(request.object).inserted { distinctByteCount &+= request.byteCount }
      progress.show(reader.position, of: reader.byteCount)
    }
    progress.clear()
  }
}
