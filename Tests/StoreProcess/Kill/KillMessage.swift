/// A message of a living writer: one line, written at once and shorter than a pipe takes in one piece, so that the
/// lines of several threads stay intact and in the order of events.
enum KillMessage {
  case opening
  case opened
  /// A thread begins a change, with the value of each key after it.
  case begin(thread: Int, kind: KillOperation.Kind, effects: [KillEffect])
  case done(thread: Int)
  /// The change was refused, or there was nothing to change, so it had no effect.
  case nothing(thread: Int)
  case closing
  case closed
  case wrong(String)

  var line: String {
    switch self {
    case .opening: "opening"
    case .opened: "opened"
    case .begin(let thread, let kind, let effects):
      (["begin", "\(thread)", kind.rawValue] + effects.map(\.text)).joined(separator: " ")
    case .done(let thread): "done \(thread)"
    case .nothing(let thread): "nothing \(thread)"
    case .closing: "closing"
    case .closed: "closed"
    case .wrong(let text): "wrong \(text.prefix(1000).split(separator: "\n").joined(separator: " "))"
    }
  }

  init?(_ line: String) {
    let words = line.split(separator: " ")
    switch (words.first, words.count) {
    case ("opening", 1): self = .opening
    case ("opened", 1): self = .opened
    case ("closing", 1): self = .closing
    case ("closed", 1): self = .closed
    case ("done", 2):
      guard let thread = Int(words[1]) else { return nil }
      self = .done(thread: thread)
    case ("nothing", 2):
      guard let thread = Int(words[1]) else { return nil }
      self = .nothing(thread: thread)
    case ("begin", 3...):
      let effects = words.dropFirst(3).compactMap { KillEffect($0) }
      guard let thread = Int(words[1]), let kind = KillOperation.Kind(rawValue: String(words[2])),
        effects.count == words.count - 3
      else { return nil }
      self = .begin(thread: thread, kind: kind, effects: effects)
    case ("wrong", _): self = .wrong(words.dropFirst().joined(separator: " "))
    default: return nil
    }
  }
}

/// The effect of a change on one key; nil for no value.
struct KillEffect {
  let key: Int
  let value: KillValue?

  init(_ key: Int, _ value: KillValue?) { (self.key, self.value) = (key, value) }

  var text: String { "\(key):\(value?.description ?? "-")" }

  init?(_ text: Substring) {
    let parts = text.split(separator: ":")
    guard parts.count == 2, let key = Int(parts[0]), (0..<KillKeys.count).contains(key) else { return nil }
    let value = KillValue(parts[1])
    guard value != nil || parts[1] == "-" else { return nil }
    self.init(key, value)
  }
}
