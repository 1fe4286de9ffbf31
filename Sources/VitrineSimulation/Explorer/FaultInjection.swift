/// Which call goes wrong, and how.
struct FaultInjection: CustomStringConvertible {
  enum Effect: String, CaseIterable {
    case io, full, descriptors, limit, torn, lost, short, flip
  }

  /// No workload makes as many.
  private static let mostCalls = 1 << 32

  let call: DiskCall
  let occurrence: Int
  let effect: Effect

  init(call: DiskCall, occurrence: Int, effect: Effect) {
    self.call = call
    self.occurrence = occurrence
    self.effect = effect
  }

  init?(words: [String]) {
    guard words.count == 3, let call = DiskCall.allCases.first(where: { "\($0)" == words[0] }),
      let occurrence = Int(words[1]), (1...FaultInjection.mostCalls).contains(occurrence),
      let effect = Effect(rawValue: words[2])
    else { return nil }
    self.init(call: call, occurrence: occurrence, effect: effect)
  }

  var description: String { "\(call):\(occurrence):\(effect.rawValue)" }

  var fault: Fault {
    let what: Fault.Effect =
      switch effect {
      case .io: .fail(ErrorCode.inputOutput)
      case .full: .fail(ErrorCode.noSpace)
      case .descriptors: .fail(ErrorCode.tooManyFiles)
      case .limit: .fail(ErrorCode.fileTooLarge)
      case .torn: .failAfterWriting(byteCount: occurrence * 37 % 700, ErrorCode.inputOutput)
      case .lost: .loseUnsyncedPages(ErrorCode.inputOutput)
      case .short: .readShort(byteCount: occurrence * 13 % 300)
      case .flip: .flipBit(byte: occurrence * 7919, bit: occurrence & 7)
      }
    return Fault(call, occurrence: occurrence, what)
  }

  /// Whether the disk then gives other bytes than it was given, or none: an entry may go for it.
  var mayLoseEntries: Bool {
    switch call {
    case .read, .map, .openFile, .status: true
    default: false
    }
  }

  /// What makes sense for each call.
  static func effects(of call: DiskCall) -> [Effect] {
    switch call {
    case .openDirectory, .list, .status, .lock: [.io]
    case .createDirectory, .createFile: [.io, .full, .descriptors]
    case .remove, .rename, .syncDirectory, .availableSpace: [.io]
    case .openFile: [.io, .descriptors]
    case .read: [.io, .short, .flip]
    case .write: [.io, .full, .limit, .torn]
    case .allocate: [.io, .full, .limit]
    case .truncate: [.io, .limit]
    case .syncFile, .writeBack: [.io, .lost]
    case .map: [.io, .descriptors]
    }
  }
}
