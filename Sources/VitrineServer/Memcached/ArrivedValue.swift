import Vitrine

/// The value of a request, complete or arriving.
enum ArrivedValue {
  /// Collected in memory.
  case bytes(CollectedBytes)
  /// Written to the store while it arrives. Its properties were set before the first byte.
  case body(BodyWriter, unique: UInt64, MemoryShare)
  /// Not kept, because it has already expired.
  case nothing

  /// Takes bytes that have arrived, of `left` that are expected. Throws `noSpace` if the budget of memory, or the room
  /// in the store for unfinished bodies, is used up, and other errors of a write. Never waits for room.
  mutating func append(_ bytes: UnsafeRawBufferPointer, of left: Int) throws(StoreError) {
    switch self {
    case .bytes(var collected):
      self = .nothing
      try collected.append(bytes, of: left)
      self = .bytes(collected)
    case .nothing: break
    case .body(let body, _, _): try body.writeAtOnce(RawSpan(_unsafeBytes: bytes))
    }
  }
}

/// Bytes that are collected in memory. The budget is charged for bytes that have arrived, so a client that declares a
/// value and sends nothing takes nothing from others.
struct CollectedBytes {
  private(set) var bytes: [UInt8] = []
  private var shares: [MemoryShare] = []
  private var chargedByteCount = 0
  private let budget: MemoryBudget?

  /// The smallest charge, unless fewer bytes are expected.
  private static let step = 64 << 10

  /// With `budget` nil, nothing is charged.
  init(_ budget: MemoryBudget?) { self.budget = budget }

  mutating func append(_ new: UnsafeRawBufferPointer, of left: Int) throws(StoreError) {
    let missing = bytes.count + new.count - chargedByteCount
    if let budget, missing > 0 {
      let charge = min(max(missing, CollectedBytes.step), bytes.count + left - chargedByteCount)
      guard let share = budget.take(charge, besides: chargedByteCount) else { throw .noSpace }
      shares.append(share)
      chargedByteCount += charge
    }
    if bytes.isEmpty { bytes.reserveCapacity(min(left, ItemStore.collectedByteCount)) }
    bytes.append(contentsOf: new)
  }
}
