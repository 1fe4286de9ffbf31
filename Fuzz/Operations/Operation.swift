import FuzzSupport

/// One thing that is done to a store. A byte names it, and what it needs follows.
enum Operation: UInt8, CaseIterable {
  case put
  /// Of a bitmap, by its bytes.
  case putBitmap
  case draw
  /// A body in pieces, begun, or written to, or committed, or abandoned.
  case body
  case batch
  case get
  case retain
  case setMetadata
  case setExpiration
  case remove
  case removeMany
  case removeStyles
  case removeStyle
  case removePrefix
  case retainOnly
  case removeAll
  case setByteBudget
  case setEntryBudget
  case compact
  case checkpoint
  case flush
  case upkeep
  case advanceClock
  case reopen
  case openReader
  case refreshReader
  /// The power goes at some operation of the disk, under some policy; the store goes on with what was left.
  case crash
  /// The same, but the store goes on as if it had not been; what was left is looked at.
  case lookAtCrash
  /// The process dies: what was not synced is still there.
  case killProcess

  static func next(_ input: inout FuzzInput) -> Operation? {
    input.isAtEnd ? nil : allCases[Int(input.byte()) % allCases.count]
  }
}
