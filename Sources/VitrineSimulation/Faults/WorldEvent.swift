import Vitrine

/// An external event in the middle of a run: another program changes the disk, the folder or the clock.
struct WorldEvent: CustomStringConvertible {
  enum Kind: String, CaseIterable {
    /// Another program takes all room, and keeps it.
    case filled
    /// Another program fills the disk, and frees the room some calls later.
    case crowded
    /// The file system refuses every change from then on.
    case frozen
    /// The folder is deleted, or moved away with an empty one in its place.
    case removed, replaced
    /// The clock steps by a year.
    case back, forward
  }

  let kind: Kind
  /// The call to the disk, counted over all kinds, before which it happens.
  let call: Int

  static let aside = "aside"
  private static let year: Int64 = 365 * 86_400_000

  init(kind: Kind, call: Int) {
    self.kind = kind
    self.call = call
  }

  init?(words: [String]) {
    guard words.count == 3, words[0] == "event", let kind = Kind(rawValue: words[1]),
      let call = Misfortune.number(words[2])
    else { return nil }
    self.init(kind: kind, call: call)
  }

  var description: String { "event:\(kind.rawValue):\(call)" }

  /// Whether the store's folder is no longer at its path.
  var takesFolder: Bool { kind == .removed || kind == .replaced }

  func plan(_ world: SimulatedWorld, _ folder: String) {
    let disk = world.disk
    switch kind {
    case .filled, .crowded:
      let refusesNames = call % 3 == 0
      disk.plan(before: call) { $0.space.fillUp(refusingNewNames: refusesNames) }
      if kind == .crowded { disk.plan(before: call + 1 + call % 60, isHarmless: true) { $0.space.giveRoom() } }
    case .frozen: disk.plan(before: call) { $0.faults.refuseChanges() }
    case .removed: disk.plan(before: call) { $0.removeFolder(folder) }
    case .replaced: disk.plan(before: call) { $0.replaceFolder(folder, movingTo: WorldEvent.aside) }
    case .back, .forward:
      let clock = world.clock
      let step = kind == .back ? -WorldEvent.year : WorldEvent.year
      disk.plan(before: call) { _ in clock.setWall(milliseconds: clock.wallMilliseconds() + step) }
    }
  }
}
