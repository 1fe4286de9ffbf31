/// A failing call to the disk, and the kind of the failure.
struct FaultInjection: CustomStringConvertible {
  enum Effect: String, CaseIterable {
    case io, full, descriptors, memory, limit, interrupted, torn, lost, misdirected, short, flip, stale
  }

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
      let occurrence = Misfortune.number(words[1]), let effect = Effect(rawValue: words[2])
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
      case .memory: .fail(ErrorCode.noMemory)
      case .limit: .fail(ErrorCode.fileTooLarge)
      case .interrupted: .fail(ErrorCode.interrupted)
      case .torn: .failAfterWriting(byteCount: occurrence * 37 % 700, ErrorCode.inputOutput)
      // If blocks are allocated late, a sync may lack space, with the same effect as lost pages.
      case .lost: .loseUnsyncedPages(occurrence % 3 == 2 ? ErrorCode.noSpace : ErrorCode.inputOutput)
      case .misdirected: .misdirect(byteCount: 4096 * (1 + occurrence % 9))
      case .short: .readShort(byteCount: occurrence * 13 % 300)
      case .flip: .flipBit(byte: occurrence * 7919, bit: occurrence & 7)
      case .stale: .readStale(part: occurrence * 37 % 256)
      }
    return Fault(call, occurrence: occurrence, what)
  }

  var harm: Harm {
    switch (call, effect) {
    // A passing failure says nothing about the content of the disk. Interrupted reads are excepted: a real file system
    // repeats them, so one that reaches the engine counts like any failed read.
    case (_, .descriptors), (_, .memory): .none
    case (let call, .interrupted) where call != .read: .none
    case (.write, .misdirected): .pagesAreWrong
    case (.read, .stale), (.read, .misdirected): .entriesMayBeOlder
    case (.read, _), (.map, _), (.openFile, _), (.status, _): .entriesMayMiss
    default: .none
    }
  }

  /// The effects that make sense for each call.
  static func effects(of call: DiskCall) -> [Effect] {
    switch call {
    case .openDirectory, .list: [.io, .descriptors, .interrupted]
    case .status, .lock: [.io, .interrupted]
    case .createDirectory, .createFile: [.io, .full, .descriptors, .interrupted]
    case .remove, .availableSpace: [.io, .interrupted]
    case .rename, .syncDirectory: [.io, .full, .interrupted]
    case .openFile: [.io, .descriptors, .interrupted]
    case .read: [.io, .interrupted, .short, .flip, .stale, .misdirected]
    case .write: [.io, .full, .limit, .interrupted, .torn, .misdirected]
    case .allocate: [.io, .full, .limit, .interrupted]
    case .truncate: [.io, .limit, .interrupted]
    case .syncFile: [.io, .full, .interrupted, .memory, .descriptors, .lost]
    case .writeBack: [.io, .interrupted, .lost]
    case .map: [.io, .descriptors, .memory]
    }
  }
}
