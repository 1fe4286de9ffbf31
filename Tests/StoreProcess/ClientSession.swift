import Vitrine
import VitrineClient

/// A client of a server in another process, driven line by line.
final class ClientSession {
  private let client: CacheClient
  private var held: [(value: CachedValue, expected: [UInt8])] = []

  init(path: String) { client = CacheClient(path: path) }

  /// Answers a command; nil if there is none of that name.
  func run(_ words: [String]) throws -> String? {
    switch (words[0], words.count) {
    case ("fill", 3):
      for index in 0..<(Int(words[2]) ?? 0) {
        let key = "\(words[1])/\(index)"
        try client.put(ClientSession.value(key), for: key)
      }
      return "done"
    case ("hold", 3):
      for index in 0..<(Int(words[2]) ?? 0) { try hold(words[1], index) }
      return "\(held.count { !$0.value.isCopy })"
    case ("intact", 1):
      return held.allSatisfy { !$0.value.isDamaged && $0.value.array == $0.expected } ? "done" : "wrong"
    case ("drop", 1):
      held = []
      try client.releaseValues()
      return "done"
    case ("work", 3): return try work(Int(words[1]) ?? 0, rounds: Int(words[2]) ?? 0)
    default: return nil
    }
  }

  /// A value of a client: the bytes follow from the key, so that each process can check the values of all.
  static func value(_ key: String) -> [UInt8] {
    let seed = key.utf8.reduce(7) { ($0 &* 31 &+ Int($1)) & 0xFF_FFFF }
    // Values of version 1 are not stored compressed, so large ones are mapped.
    return StressValue.make(seed, 1, 1 + seed % 90_000)
  }

  private func hold(_ name: String, _ index: Int) throws {
    let key = "\(name)/\(index)"
    if let value = try client.value(key) { held.append((value, ClientSession.value(key))) }
  }

  /// Stores and removes its own values, and reads those of eight workers. Keeps the last values that it has read.
  /// Returns the number of mapped ones.
  private func work(_ number: Int, rounds: Int) throws -> String {
    var mappedCount = 0
    for round in 0..<rounds {
      let own = "\(number)/\(round % 20)"
      if round % 7 == 6 { try client.remove(own) } else { try client.put(ClientSession.value(own), for: own) }
      let key = "\((number + round) % 8)/\(round * 13 % 20)"
      guard let value = try client.value(key) else { continue }
      held.append((value, ClientSession.value(key)))
      if held.count > 30 { held.removeFirst(10) }
      guard held.allSatisfy({ $0.value.array == $0.expected }) else { return "wrong \(key)" }
      mappedCount += value.isCopy ? 0 : 1
    }
    return "\(mappedCount)"
  }
}
