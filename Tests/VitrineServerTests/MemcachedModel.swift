/// The classic commands on a dictionary, without expiry.
struct MemcachedModel {
  private var items: [String: (flags: UInt32, value: String)] = [:]

  enum Request {
    case get([String])
    case store(String, key: String, flags: UInt32, value: String)
    case delete(String)
    case change(String, isIncrement: Bool, by: UInt64)
    case flush

    var text: String {
      switch self {
      case .get(let keys): "get \(keys.joined(separator: " "))\r\n"
      case .store(let verb, let key, let flags, let value):
        "\(verb) \(key) \(flags) 0 \(value.utf8.count)\r\n\(value)\r\n"
      case .delete(let key): "delete \(key)\r\n"
      case .change(let key, let isIncrement, let delta): "\(isIncrement ? "incr" : "decr") \(key) \(delta)\r\n"
      case .flush: "flush_all\r\n"
      }
    }
  }

  func randomRequest(using random: inout SplitMix) -> Request {
    let keys = ["a", "b", "c#s", "d", "e"]
    let key = keys.randomElement(using: &random)!
    switch Int.random(in: 0..<100, using: &random) {
    case 0: return .flush
    case 1..<30:
      return .get((0..<Int.random(in: 1...4, using: &random)).map { _ in keys.randomElement(using: &random)! })
    case 30..<40: return .delete(key)
    case 40..<60: return .change(key, isIncrement: .random(using: &random), by: .random(in: 0...50, using: &random))
    default:
      let verb = ["set", "set", "add", "replace", "append", "prepend"].randomElement(using: &random)!
      let value =
        Bool.random(using: &random)
        ? String(UInt64.random(in: 0...200, using: &random))
        : String(repeating: "v\r\n", count: Int.random(in: 0...40, using: &random))
      return .store(verb, key: key, flags: .random(in: 0...99, using: &random), value: value)
    }
  }

  mutating func answer(_ request: Request) -> String {
    switch request {
    case .get(let keys):
      return keys.map { key in
        items[key].map { "VALUE \(key) \($0.flags) \($0.value.utf8.count)\r\n\($0.value)\r\n" } ?? ""
      }.joined() + "END\r\n"
    case .store(let verb, let key, let flags, let value):
      let present = items[key]
      switch (verb, present) {
      case ("set", _), ("add", nil), ("replace", .some): items[key] = (flags, value)
      case ("append", .some(let present)): items[key] = (present.flags, present.value + value)
      case ("prepend", .some(let present)): items[key] = (present.flags, value + present.value)
      default: return "NOT_STORED\r\n"
      }
      return "STORED\r\n"
    case .delete(let key): return items.removeValue(forKey: key) == nil ? "NOT_FOUND\r\n" : "DELETED\r\n"
    case .change(let key, let isIncrement, let delta):
      guard let present = items[key] else { return "NOT_FOUND\r\n" }
      guard let number = UInt64(present.value), present.value.utf8.count <= 20 else {
        return "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"
      }
      let result = isIncrement ? number &+ delta : number < delta ? 0 : number - delta
      items[key] = (present.flags, String(result))
      return "\(result)\r\n"
    case .flush:
      items = [:]
      return "OK\r\n"
    }
  }
}
