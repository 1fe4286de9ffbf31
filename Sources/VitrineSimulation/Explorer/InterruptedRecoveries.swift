/// The recoveries that an exploration has interrupted, or left out. Recoveries are equal if they do the same to the
/// same files in the same order.
struct InterruptedRecoveries {
  private var seen: Set<Shape> = []
  private var waiting: Set<Shape> = []

  /// The recoveries that were left out so far.
  var leftOutCount: Int { waiting.count }

  struct Shape: Hashable {
    private let fingerprint: UInt64

    init(_ operations: [DiskOperation], workload: Int) {
      fingerprint = operations.reduce(UInt64(bitPattern: Int64(workload))) { shape, operation in
        "\(operation.name) \(operation.fileClass)".utf8.reduce(mixed(shape, 1)) { mixed($0, UInt64($1)) }
      }
    }
  }

  func contains(_ shape: Shape) -> Bool { seen.contains(shape) }

  /// Enters a recovery to interrupt. Returns false if an equal one was entered before.
  mutating func enter(_ shape: Shape) -> Bool {
    guard seen.insert(shape).inserted else { return false }
    waiting.remove(shape)
    return true
  }

  /// Leaves a recovery out, until an equal one is entered.
  mutating func leaveOut(_ shape: Shape) { if !seen.contains(shape) { waiting.insert(shape) } }
}
