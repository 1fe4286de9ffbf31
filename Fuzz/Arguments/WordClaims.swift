import FuzzSupport

@testable import CacheCtlKit
@testable import Vitrine
@testable import VitrineSimulation

/// The claims about one word, read as a value of every type.
enum WordClaims {
  static func check(_ word: [UInt8]) {
    let line = printable(word)
    claim(line.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }, "a control character is shown")
    let text = String(decoding: word, as: UTF8.self)
    if let size = Size.parse(text) {
      let whole = Int(text.prefix { $0.isASCII && $0.isNumber }) ?? 0
      claim(size >= whole && Size.parse("\(size)") == size, "'\(printable(word))' is a size of \(size)")
      let unit = text.drop { $0.isASCII && ($0.isNumber || $0 == ".") }
      if let next = Size.parse("\(whole &+ 1)\(unit)") {
        claim(size <= next, "'\(printable(word))' is a size of \(size), above the next whole one")
      }
    }
    if let digest = Digest(text) { claim(Digest("\(digest)") == digest, "a digest is another") }
    if let style = Style(text) { claim(style.name == text, "a style is another") }
    // A value of `crashtest --repeat`.
    if let place = CrashPlace(text) {
      let again = CrashPlace("\(place)")
      claim(again.map { "\($0)" } == "\(place)", "a place is another once it is written: \(place)")
    }
    for name in ExportPath.names(for: CacheKey(bytes: word)) {
      claim((1...255).contains(name.utf8.count) && name != "." && name != ".." && !name.contains("/"), "a name")
    }
  }
}
