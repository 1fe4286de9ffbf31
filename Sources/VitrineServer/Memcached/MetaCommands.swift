import Vitrine

// The meta commands of memcached: `mg`, `ms`, `md`, `ma`, `mn` and `me`.
extension MemcachedSession {
  func runMeta(_ letter: UInt8, _ words: RequestWords) {
    do throws(MetaFlags.Refusal) {
      switch letter {
      case UInt8(ascii: "g"): getMeta(try flags(words, first: 2))
      case UInt8(ascii: "s"): try setMeta(words)
      case UInt8(ascii: "d"): deleteMeta(try flags(words, first: 2))
      case UInt8(ascii: "a"): try changeMeta(try flags(words, first: 2))
      case UInt8(ascii: "n"): output.append("MN\r\n")
      case UInt8(ascii: "e"): describeMeta(try flags(words, first: 2))
      default: refuse("ERROR\r\n")
      }
    } catch {
      refuse(error.text)
    }
  }

  private func flags(_ words: RequestWords, first: Int) throws(MetaFlags.Refusal) -> MetaFlags {
    try MetaFlags(words, first: first, now: Time.milliseconds())
  }

  // MARK: Getting

  private func getMeta(_ flags: MetaFlags) {
    guard let answer = items.get(flags) else {
      counters.add(flags.expiry == nil ? .getMisses : .touchMisses)
      if flags.isQuiet { return }
      output.append("EN")
      return flags.appendLineEnd(output)
    }
    counters.add(flags.expiry == nil ? .getHits : .touchHits)
    if let blob = answer.blob {
      output.append("VA ")
      output.append(number: blob.byteCount)
    } else {
      output.append("HD")
    }
    append(flags, answer)
    if let blob = answer.blob {
      output.append(blob, answer.share)
      output.append("\r\n")
    }
  }

  private func append(_ flags: MetaFlags, _ answer: MetaItem) {
    for letter in flags.letters {
      switch letter {
      case UInt8(ascii: "O"):
        output.append(byte: Byte.blank)
        flags.opaque.withUnsafeBytes { output.append($0) }
      case UInt8(ascii: "k"): flags.name.append(to: output)
      case UInt8(ascii: "s"): append(" s", UInt64(max(0, answer.byteCount)))
      case UInt8(ascii: "c"): append(" c", answer.record.unique)
      case UInt8(ascii: "f"): append(" f", UInt64(answer.record.flags))
      case UInt8(ascii: "t"): append(timeLeft: answer.expirationMilliseconds)
      case UInt8(ascii: "l"): append(" l", UInt64(max(0, answer.idleSeconds)))
      case UInt8(ascii: "h"): output.append(answer.wasUsed ? " h1" : " h0")
      default: break
      }
    }
    if answer.record.isTokenSent, !answer.hasWon { output.append(" Z") }
    if answer.record.isStale { output.append(" X") }
    if answer.hasWon { output.append(" W") }
    output.append("\r\n")
  }

  private func append(_ name: StaticString, _ number: UInt64) {
    output.append(name)
    output.append(number: number)
  }

  private func append(timeLeft expiration: Int64?) {
    guard let expiration else { return output.append(" t-1") }
    append(" t", UInt64(max(0, (expiration - Time.milliseconds() + 999) / 1000)))
  }

  // MARK: Storing

  private func setMeta(_ words: RequestWords) throws(MetaFlags.Refusal) {
    guard words.count >= 3, let count = words[2].signedNumber, count >= 0, count < Int64(Int32.max - 2) else {
      throw MetaFlags.Refusal(text: "CLIENT_ERROR bad command line format\r\n")
    }
    do throws(MetaFlags.Refusal) {
      let flags = try flags(words, first: 3)
      expectValue(try MemcachedSession.request(flags, byteCount: Int(count)), .meta(flags))
    } catch {
      skip(valueOf: Int(count))
      throw error
    }
  }

  private static func request(_ flags: MetaFlags, byteCount: Int) throws(MetaFlags.Refusal) -> StorageRequest {
    var request = StorageRequest(.set, flags.key, byteCount: byteCount)
    request.flags = flags.clientFlags
    request.expiry = flags.expiry ?? .never
    switch flags.mode {
    case nil, UInt8(ascii: "S"), UInt8(ascii: "s"): if let unique = flags.unique { request.verb = .compare(unique) }
    case UInt8(ascii: "R"), UInt8(ascii: "r"): request.verb = flags.unique.map { .compare($0) } ?? .replace
    case UInt8(ascii: "E"), UInt8(ascii: "e"): request.verb = .add
    case UInt8(ascii: "A"), UInt8(ascii: "a"): request.verb = .append
    case UInt8(ascii: "P"), UInt8(ascii: "p"): request.verb = .prepend
    default: throw MetaFlags.Refusal(text: "CLIENT_ERROR invalid mode for ms M token\r\n")
    }
    request.unique = flags.unique == 0 ? nil : flags.unique
    request.acceptsStale = flags.invalidates
    request.vivified = flags.vivified
    return request
  }

  // MARK: Deleting and changing

  private func deleteMeta(_ flags: MetaFlags) {
    let outcome =
      flags.invalidates
      ? items.invalidate(flags.key, unique: flags.unique, expiry: flags.expiry)
      : items.delete(flags.key, unique: flags.unique)
    if case .failed(let error) = outcome { return refuse(error) }
    if !flags.invalidates || outcome == .notFound {
      if case .stored = outcome { counters.add(.deleteHits) } else { counters.add(.deleteMisses) }
    }
    if outcome == .notFound, flags.isQuiet { return }
    flags.append(outcome, to: self)
  }

  private func changeMeta(_ flags: MetaFlags) throws(MetaFlags.Refusal) {
    var change = Arithmetic()
    switch flags.mode {
    case nil, UInt8(ascii: "I"), UInt8(ascii: "i"), UInt8(ascii: "+"): break
    case UInt8(ascii: "D"), UInt8(ascii: "d"), UInt8(ascii: "-"): change.isIncrement = false
    default: throw MetaFlags.Refusal(text: "CLIENT_ERROR invalid mode for ma M token\r\n")
    }
    change.delta = flags.delta
    change.unique = flags.unique == 0 ? nil : flags.unique
    change.vivified = flags.vivified
    change.initial = flags.initial
    change.expiry = flags.expiry
    let (outcome, result) = items.apply(change, flags.key)
    count(outcome, isIncrement: change.isIncrement)
    if case .failed(let error) = outcome { return refuse(error) }
    if outcome == .notANumber { return refuse("CLIENT_ERROR cannot increment or decrement non-numeric value\r\n") }
    guard let result else {
      if outcome == .notFound, flags.isQuiet { return }
      output.append(outcome == .exists ? "EX" : "NF")
      return flags.appendLineEnd(output)
    }
    if flags.isQuiet { return }
    let digits = String(result.number)
    output.append(flags.has("v") ? "VA \(digits.utf8.count)" : "HD")
    flags.appendLineEnd(output) { letter in
      switch letter {
      case UInt8(ascii: "c"): append(" c", result.unique)
      case UInt8(ascii: "t"): append(timeLeft: result.expirationMilliseconds)
      default: break
      }
    }
    if flags.has("v") { output.append("\(digits)\r\n") }
  }

  // MARK: Describing

  private func describeMeta(_ flags: MetaFlags) {
    guard let properties = items.properties(flags.key) else { return output.append("EN\r\n") }
    let info = properties.info
    let now = Time.milliseconds()
    let left = info.expirationMilliseconds.map { max(0, ($0 - now) / 1000) } ?? -1
    output.append("ME ")
    flags.name.text.withUnsafeBytes { output.append($0) }
    let used = max(info.writtenMilliseconds, info.lastUsedMilliseconds ?? 0)
    output.append(
      " exp=\(left) la=\(max(0, (now - used) / 1000)) cas=\(properties.record.unique) "
        + "fetch=\(items.marks.has(flags.key) ? "yes" : "no") cls=1 size=\(info.byteCount)\r\n")
  }
}
