/// The numbers of calls to a disk, failures included.
struct CallCounts: Sendable {
  private var byKind: [DiskCall: Int] = [:]
  /// Calls of all kinds.
  private(set) var total = 0

  subscript(call: DiskCall) -> Int { byKind[call] ?? 0 }

  mutating func add(_ call: DiskCall) {
    byKind[call, default: 0] += 1
    total += 1
  }
}
