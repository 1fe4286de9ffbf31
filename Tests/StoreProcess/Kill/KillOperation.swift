import Glibc
import Vitrine
import VitrineSimulation

/// One change by a writer: its effect on the store, and the value of each key afterwards.
struct KillOperation {
  enum Kind: String, CaseIterable {
    case put, body, draw, metadata, expiry, remove, removeMany, removeStyles, removePrefix, removeStyle, removeAll
    case batch, family, replace, flush, checkpoint, compact, idle, removeExpired
  }

  let kind: Kind
  var effects: [KillEffect] = []
  /// Returns false if there was nothing to change.
  var body: (CacheStore) throws -> Bool
}

/// Draws one change after another for a thread.
struct KillOperations {
  let own: KillKeys.Own
  private var random: SplitMix64
  /// Numbers of changes, higher than any before; no two threads or processes share one.
  private var number: Int
  private let removesAll: Bool
  /// Compacts all the time, instead of rarely.
  private let compacts: Bool

  init(thread: Int, life: Int, seed: UInt64, removesAll: Bool) {
    own = KillKeys.Own(thread: thread)
    random = SplitMix64(seed: seed &+ UInt64(life * 64 + thread))
    number = (life << 8 | thread) << 24
    self.removesAll = removesAll && thread == 0
    compacts = life % 3 == 0 && thread == 1
  }

  mutating func below(_ limit: Int) -> Int { random.next(below: limit) }

  private mutating func pick(_ keys: [Int]) -> Int { keys[below(keys.count)] }

  /// The number of a change; on request one that puts a bitmap, or a new value.
  private mutating func next(isBitmap: Bool = false, isUnique: Bool = false) -> Int {
    number += KillValue.kinds
    var kind = isBitmap ? KillValue.bitmapKind : below(KillValue.kinds)
    if isUnique, kind == 0 || KillValue.isShared(kind) { kind = 1 }
    return number | kind
  }

  private mutating func durability() -> Durability { below(6) == 0 ? .synced : .buffered }

  private mutating func options(_ value: KillValue, follows: Bool = false) -> PutOptions {
    PutOptions(
      metadata: value.metadataBytes, expirationMilliseconds: value.expirationMilliseconds, durability: durability(),
      isPageAligned: below(8) == 0, source: follows ? .automatic : .none)
  }

  mutating func draw(_ store: CacheStore) -> KillOperation? {
    if compacts, below(20) == 0 { return plain(.compact) { _ = try $0.compact() } }
    return switch below(1000) {
    case ..<420: put(below(30) == 0 ? pick(own.large) : pick(own.singles + own.rows))
    case ..<470: put(pick(KillKeys.shared))
    case ..<550: body(below(8) == 0 ? pick(own.large) : pick(own.singles))
    case ..<610: drawing(pick(own.singles))
    case ..<690: metadata(pick(own.singles + own.large), store)
    case ..<710: expiry(pick(own.singles), store)
    case ..<760: remove([pick(below(6) == 0 ? KillKeys.shared : own.singles + own.large)], as: .remove)
    case ..<785: removeMany()
    case ..<800: removeStyles()
    case ..<805: removePrefix()
    case ..<810: removeStyle()
    case ..<900: batch()
    case ..<930: family()
    case ..<960: replace()
    case ..<975: plain(.flush) { try $0.flush() }
    case ..<985: plain(.checkpoint) { try $0.checkpoint() }
    case ..<990: plain(.compact) { _ = try $0.compact() }
    case ..<995: plain(.idle) { try $0.idle() }
    case ..<997 where removesAll: removeAll()
    case ..<999: plain(.removeExpired) { _ = try $0.removeExpired() }
    default: nil
    }
  }

  private func plain(_ kind: KillOperation.Kind, _ body: @escaping (CacheStore) throws -> Void) -> KillOperation {
    KillOperation(kind: kind) { store in
      try body(store)
      return true
    }
  }

  // MARK: Puts

  private mutating func put(_ key: Int) -> KillOperation {
    let value = KillValue(next())
    var options = options(value)
    let bytes = KillValue.bytes(key, value.payload)
    if !KillKeys.isLarge(key) { options.layout = KillValue.layout(value.payload) }
    return KillOperation(kind: .put, effects: [KillEffect(key, value)]) { [options] store in
      try store.put(bytes, for: KillKeys.all[key], options: options)
      return true
    }
  }

  private mutating func body(_ key: Int) -> KillOperation {
    let value = KillValue(next())
    var options = options(value)
    let bytes = KillValue.bytes(key, value.payload)
    if !KillKeys.isLarge(key) { options.layout = KillValue.layout(value.payload) }
    let isLengthKnown = below(2) == 0 || options.layout != nil
    let piece = 1000 + below(100_000)
    return KillOperation(kind: .body, effects: [KillEffect(key, value)]) { [options] store in
      let writer = try store.writer(
        for: KillKeys.all[key], length: isLengthKnown ? bytes.count : nil, options: options)
      for start in stride(from: 0, to: bytes.count, by: piece) {
        try writer.write(Array(bytes[start..<min(start + piece, bytes.count)]))
      }
      try writer.commit()
      return true
    }
  }

  private mutating func drawing(_ key: Int) -> KillOperation? {
    let value = KillValue(next(isBitmap: true))
    guard let layout = KillValue.layout(value.payload) else { return nil }
    let options = options(value)
    let bytes = KillValue.bytes(key, value.payload)
    return KillOperation(kind: .draw, effects: [KillEffect(key, value)]) { store in
      try store.draw(KillKeys.all[key], layout: layout, options: options) { memory, _ in
        memory.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
      }
      return true
    }
  }

  // MARK: Several at once

  /// Puts and removals of own keys; sometimes larger than a log file, and with keys that other threads write too.
  private mutating func batch() -> KillOperation {
    var batch = WriteBatch()
    var effects: [KillEffect] = []
    var keys = own.singles.shuffled(using: &random).prefix(2 + below(12))
    if below(4) == 0 { keys.append(pick(KillKeys.shared)) }
    for key in keys {
      if below(5) == 0 {
        batch.remove(KillKeys.all[key])
        effects.append(KillEffect(key, nil))
      } else {
        effects.append(addPut(of: KillValue(next()), for: key, follows: false, to: &batch))
      }
    }
    let durability = durability()
    return KillOperation(kind: .batch, effects: effects) { [batch] store in
      try store.write(batch, durability: durability)
      return true
    }
  }

  private mutating func addPut(
    of value: KillValue, for key: Int, follows: Bool, to batch: inout WriteBatch
  ) -> KillEffect {
    var options = options(value, follows: follows)
    options.layout = KillValue.layout(value.payload)
    batch.put(KillValue.bytes(key, value.payload), for: KillKeys.all[key], options: options)
    return KillEffect(key, value)
  }

  /// An original and the styles made from it, together.
  private mutating func family() -> KillOperation {
    var batch = WriteBatch()
    var effects: [KillEffect] = []
    for key in own.families[below(own.families.count)] {
      effects.append(addPut(of: KillValue(next(isUnique: true)), for: key, follows: true, to: &batch))
    }
    let durability = durability()
    return KillOperation(kind: .family, effects: effects) { [batch] store in
      try store.write(batch, durability: durability)
      return true
    }
  }

  /// A new original, which removes the styles made from the old one.
  private mutating func replace() -> KillOperation {
    let keys = own.families[below(own.families.count)]
    let value = KillValue(next(isUnique: true))
    var options = options(value, follows: true)
    let bytes = KillValue.bytes(keys[0], value.payload)
    options.layout = KillValue.layout(value.payload)
    let effects = keys.map { KillEffect($0, $0 == keys[0] ? value : nil) }
    return KillOperation(kind: .replace, effects: effects) { [options] store in
      try store.put(bytes, for: KillKeys.all[keys[0]], options: options)
      return true
    }
  }

  // MARK: Without a payload

  private mutating func metadata(_ key: Int, _ store: CacheStore) -> KillOperation? {
    guard case .found(let entry) = store.lookup(KillKeys.all[key]), var value = KillValue(entry) else { return nil }
    value.metadata = next()
    let durability = durability()
    return KillOperation(kind: .metadata, effects: [KillEffect(key, value)]) { [value] store in
      try store.setMetadata(value.metadataBytes, for: KillKeys.all[key], durability: durability)
    }
  }

  private mutating func expiry(_ key: Int, _ store: CacheStore) -> KillOperation? {
    guard case .found(let entry) = store.lookup(KillKeys.all[key]), var value = KillValue(entry) else { return nil }
    value.expiry = below(3) == 0 ? 0 : next()
    let durability = durability()
    return KillOperation(kind: .expiry, effects: [KillEffect(key, value)]) { [value] store in
      try store.setExpiration(value.expirationMilliseconds, for: KillKeys.all[key], durability: durability)
    }
  }

  // MARK: Removals

  private mutating func remove(_ keys: [Int], as kind: KillOperation.Kind) -> KillOperation {
    let durability = durability()
    return KillOperation(kind: kind, effects: keys.map { KillEffect($0, nil) }) { store in
      try store.removeMany(keys.map { KillKeys.all[$0] }, durability: durability)
      return true
    }
  }

  private mutating func removeMany() -> KillOperation {
    remove(Array(own.all.shuffled(using: &random).prefix(2 + below(8))), as: .removeMany)
  }

  private mutating func removeStyles() -> KillOperation {
    let keys = own.families[below(own.families.count)]
    let durability = durability()
    return KillOperation(kind: .removeStyles, effects: keys.map { KillEffect($0, nil) }) { store in
      try store.removeAllStyles(bytes: KillKeys.all[keys[0]].url, durability: durability)
      return true
    }
  }

  private mutating func removePrefix() -> KillOperation {
    let own = own
    return KillOperation(kind: .removePrefix, effects: own.singles.map { KillEffect($0, nil) }) { store in
      try store.removeAll(prefix: own.prefix)
      return true
    }
  }

  private mutating func removeStyle() -> KillOperation {
    let own = own
    return KillOperation(kind: .removeStyle, effects: own.rows.map { KillEffect($0, nil) }) { store in
      try store.removeAll(style: own.style)
      return true
    }
  }

  private mutating func removeAll() -> KillOperation {
    let durability = durability()
    return KillOperation(kind: .removeAll, effects: (0..<KillKeys.count).map { KillEffect($0, nil) }) { store in
      try store.removeAll(durability: durability)
      return true
    }
  }
}
