import Foundation
import Testing
import Vitrine

@testable import CacheCtlKit

@Suite struct ExportPathTests {
  private func path(_ url: String, _ style: String = "original") -> String {
    ExportPath.names(for: CacheKey(url, Style(style)!)).joined(separator: "/")
  }

  @Test(arguments: [
    ("photos/a.jpg", "original/photos/a.jpg"),
    ("Füße 1.jpg", "original/Füße 1.jpg"),
    ("https://a.org/b.jpg", "original/https%3A/%e/a.org%d/b.jpg"),
    ("a", "original/a%f"),
    ("a/b.c/d", "original/a/b.c%d/d%f"),
    ("", "original/%e%f"),
    ("/", "original/%e/%e%f"),
    ("..", "original/.%2E%f"),
    ("../../etc/passwd", "original/.%2E/.%2E/etc/passwd%f"),
    ("./x.png", "original/%2E/x.png"),
    ("%e/a.jpg", "original/%25e/a.jpg"),
    ("a\u{0}b.jpg", "original/a%00b.jpg"),
    ("-rf.jpg", "original/%2Drf.jpg"),
    ("a?w=1&h=2.5", "original/a%3Fw=1&h=2.5"),
  ])
  func aURLBecomesAPathThatPeopleCanRead(_ url: String, _ expected: String) {
    #expect(path(url) == expected)
  }

  @Test func everyStyleIsOneFolder() {
    #expect(path("a.jpg", "square-60@2x") == "square-60@2x/a.jpg")
    #expect(path("a.jpg", "../x") == "..%2Fx/a.jpg")
    #expect(path("a.jpg", "..") == ".%2E/a.jpg")
  }

  @Test func bytesThatAreNotTextAreEscaped() {
    let names = ExportPath.names(for: CacheKey(bytes: [0xFF, 0x41, 0xC3, 0xBC]))
    #expect(names == ["original", "%FFA%C3%BC%f"])
  }

  @Test func everyPathLeadsBackToItsKeyAndStaysInTheFolder() {
    for key in KeySamples.all {
      let names = ExportPath.names(for: key)
      #expect(ExportPathReader.key(names) == key)
      for name in names {
        #expect(!name.isEmpty && name != "." && name != "..")
        #expect(name.utf8.count <= 255)
        #expect(!name.utf8.contains(0) && !name.utf8.contains(UInt8(ascii: "/")))
      }
    }
  }

  @Test func importReadsBackEachURL() {
    for key in KeySamples.all {
      let styled = ExportPath.names(for: key)
      let own = ExportPath.names(for: CacheKey(bytes: key.url)).dropFirst()
      #expect(styled.suffix(own.count).elementsEqual(own))
      #expect(ExportPath.url(atPath: Array(own.joined(separator: "/").utf8)) == key.url)
    }
  }

  @Test(arguments: [
    "", "a", "a b", "a.b/c.jpg", "%41.jpg", "a%2fb.jpg", "a%2Fb.jpg", "100%", "x%e", "%e", "%l", "%l/a", "%f",
    "%d/a.jpg",
    "a%c/b.jpg", "a%c", "./a.jpg", "a//b.jpg", "/a.jpg", "a.jpg/", "%e0.jpg", "%", "a%4", "-a.jpg", "a.jpg%d",
  ])
  func pathThatExportDoesNotWriteHasNoURL(_ path: String) {
    #expect(ExportPath.url(atPath: Array(path.utf8)) == nil)
  }

  @Test func noFileOfOneKeyIsTheFolderOfAnother() {
    var files = Set<[String]>()
    var folders = Set<[String]>()
    for key in KeySamples.all {
      let names = ExportPath.names(for: key)
      files.insert(names)
      for length in 1..<names.count { folders.insert(Array(names.prefix(length))) }
    }
    #expect(files.count == Set(KeySamples.all).count)
    #expect(files.isDisjoint(with: folders))
  }

  @Test func aVeryLongOrVeryDeepURLTakesFewFolders() {
    let deep = ExportPath.names(for: CacheKey(String(repeating: "/", count: 65_536)))
    #expect(deep[1] == "%l")
    #expect(deep.count < 1000)
    #expect(ExportPath.names(for: CacheKey(String(repeating: "a/", count: 40) + "b.jpg")).count == 42)
  }
}

/// Keys that are typical problems of such mappings, and many random ones over a small alphabet.
private enum KeySamples {
  static let all: [CacheKey] = {
    var generator = Generator(state: 0x5EED)
    let alphabet = Array("a.b/%-: ef2".utf8) + [0xC3, 0xBC, 0x00]
    var keys: [CacheKey] = []
    let isSanitized = ProcessInfo.processInfo.environment["VITRINE_SANITIZED"] != nil
    for _ in 0..<(isSanitized ? 2000 : 20_000) {
      let length = Int(generator.next() % 9)
      let url = (0..<length).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] }
      keys.append(CacheKey(bytes: url))
    }
    for length in [239, 240, 241, 242, 255, 256, 480, 481, 5000] {
      for tail in ["", ".jpg", "/a", "%c", "%f", "ü"] {
        keys.append(CacheKey(String(repeating: "x", count: length) + tail))
      }
      keys.append(CacheKey(String(repeating: "a/", count: length)))
      keys.append(CacheKey(String(repeating: "%", count: length) + "/%l"))
    }
    for style in ["a/b", "..", "%l", "x.jpg", String(repeating: "/", count: 255)] {
      keys.append(CacheKey("a/b", Style(style)!))
      keys.append(CacheKey("", Style(style)!))
    }
    return keys
  }()
}

/// Reads a key back from its path, written from the description of the mapping and not from its code.
private enum ExportPathReader {
  static func key(_ names: [String]) -> CacheKey? {
    var rest = names[...]
    guard let style = part(&rest, isFile: false), let name = Style(String(decoding: style, as: UTF8.self))
    else {
      return nil
    }
    if rest.first == "%l" {
      rest.removeFirst()
      guard let url = part(&rest, isFile: false), rest.isEmpty else { return nil }
      return CacheKey(bytes: url, name)
    }
    var parts: [[UInt8]] = []
    while !rest.isEmpty {
      guard let next = part(&rest, isFile: true) else { return nil }
      parts.append(next)
    }
    return CacheKey(bytes: Array(parts.joined(separator: [UInt8(ascii: "/")])), name)
  }

  private static func part(_ names: inout ArraySlice<String>, isFile: Bool) -> [UInt8]? {
    var text = ""
    while let name = names.popFirst() {
      if name.hasSuffix("%c") {
        text += name.dropLast(2)
        continue
      }
      text += isFile && (name.hasSuffix("%d") || name.hasSuffix("%f")) ? name.dropLast(2) : Substring(name)
      return text == "%e" ? [] : unescaped(Array(text.utf8))
    }
    return nil
  }

  private static func unescaped(_ text: [UInt8]) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = text[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      else {
        return nil
      }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return bytes
  }
}

private struct Generator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
