import FuzzSupport

/// One operation on a store. A byte names it, and its arguments follow.
enum Operation: UInt8, CaseIterable {
  case put
  /// Of a bitmap, by its bytes.
  case putBitmap
  case draw
  /// Begins, writes to, commits or abandons a body in pieces.
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
  /// The power is lost at some operation of the disk, under some policy; the store continues with the resulting
  /// disk.
  case crash
  /// The power is lost on a copy of the disk, which is inspected. The store continues.
  case lookAtCrash
  /// The process dies: unsynced changes are still there.
  case killProcess

  static func next(_ input: inout FuzzInput) -> Operation? {
    input.isAtEnd ? nil : allCases[Int(input.byte()) % allCases.count]
  }
}
