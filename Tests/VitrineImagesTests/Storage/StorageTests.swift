import Foundation
import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

/// The contract of ``ImageStorage``, tested with each storage.
@Suite struct StorageTests {
  private func digest(_ bytes: [UInt8]) -> Digest { bytes.withUnsafeBytes { Digest(of: $0) } }

  private func bytes(_ original: StoredOriginal?) -> [UInt8]? {
    original.map { $0.bytes.withBytes { $0.withUnsafeBytes { Array($0) } } }
  }

  private func parts(_ styled: StoredStyled?) -> StyledParts? { styled.map(StyledParts.init) }

  private struct StyledParts: Equatable {
    let bytes: [UInt8]
    let layout: BitmapLayout?
    let metadata: [UInt8]

    init(_ styled: StoredStyled) {
      (bytes, layout) = styled.content.parts
      metadata = styled.metadata
    }
  }

  private func encoded(_ style: ImageStyle, _ bytes: [UInt8], _ metadata: [UInt8] = []) -> StyledPicture {
    StyledPicture(style, .encoded(.array(bytes)), metadata: metadata)
  }

  // MARK: Originals

  @Test(arguments: StorageKind.allCases)
  func originalIsReadBackUnchanged(_ kind: StorageKind) async throws {
    let fixture = try StorageFixture(kind)
    let storage = fixture.storage
    #expect(try await storage.original(for: "a") == nil)
    let picture: [UInt8] = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
    try await storage.saveOriginal(picture, metadata: [0, 255, 10], for: "a")
    try await storage.saveOriginal([0], metadata: [], for: "b")
    for round in 0..<2 {
      let found = try await fixture.storage.original(for: "a")
      #expect(bytes(found) == picture && found?.metadata == [0, 255, 10], "\(round)")
      #expect(found?.bytes.digest == digest(picture) && found?.bytes.count == picture.count)
      let other = try await fixture.storage.original(for: "b")
      #expect(bytes(other) == [0] && other?.metadata == [])
      #expect(try await fixture.storage.original(for: "c") == nil)
      if round == 0 { try fixture.reopen() }
    }
    try await fixture.storage.saveOriginal([1, 2], metadata: [3], for: "a")
    let replaced = try await fixture.storage.original(for: "a")
    #expect(bytes(replaced) == [1, 2] && replaced?.metadata == [3])
  }

  @Test(arguments: StorageKind.allCases)
  func setMetadataOfAnOriginalChangesOnlyTheMetadata(_ kind: StorageKind) async throws {
    let fixture = try StorageFixture(kind)
    let storage = fixture.storage
    let square = try ImageStyle.square(10)
    try await storage.saveOriginal([1, 2, 3], metadata: [1], for: "a")
    _ = try await storage.saveStyled([encoded(square, [9])], madeFrom: digest([1, 2, 3]), for: "a")
    try await storage.setMetadata([7, 7], ofOriginalFor: "a")
    let found = try await storage.original(for: "a")
    #expect(bytes(found) == [1, 2, 3] && found?.metadata == [7, 7])
    #expect(parts(try await storage.styled(square, for: "a"))?.bytes == [9])
    // Setting metadata of a missing original creates nothing.
    try await storage.setMetadata([7], ofOriginalFor: "b")
    #expect(try await storage.original(for: "b") == nil)
  }

  // MARK: Styles

  @Test(arguments: StorageKind.allCases)
  func setMetadataOfAStyleChangesOnlyTheMetadata(_ kind: StorageKind) async throws {
    let fixture = try StorageFixture(kind)
    let storage = fixture.storage
    let (square, circle) = (try ImageStyle.square(10), try ImageStyle.circle(10))
    let made = digest([1, 2, 3])
    let pixels = StyledPicture(circle, .pixels(.gradient(10, 10)), metadata: [1])
    // The original is not kept.
    try await storage.noteOriginal(made, for: "a")
    _ = try await storage.saveStyled([encoded(square, [9], [1]), pixels], madeFrom: made, for: "a")
    for style in [square, circle] {
      let before = try #require(parts(try await storage.styled(style, for: "a")))
      try await storage.setMetadata([7, 7], of: style, madeFrom: made, for: "a")
      let after = try #require(parts(try await storage.styled(style, for: "a")))
      #expect(after.bytes == before.bytes && after.layout == before.layout && after.metadata == [7, 7])
    }
    // Setting metadata of a missing style creates nothing.
    try await storage.setMetadata([8], of: .square(11), madeFrom: made, for: "a")
    #expect(try await storage.styled(.square(11), for: "a") == nil)
    // A change for a picture made from another original has no effect.
    try await storage.saveOriginal([1, 2, 3], metadata: [], for: "a")
    try await storage.setMetadata([8], of: square, madeFrom: digest([4]), for: "a")
    #expect(parts(try await storage.styled(square, for: "a"))?.metadata == [7, 7])
  }

  @Test(arguments: StorageKind.allCases)
  func styledPicturesAreReadBackUnchanged(_ kind: StorageKind) async throws {
    let fixture = try StorageFixture(kind)
    let original: [UInt8] = [1, 2, 3]
    try await fixture.storage.saveOriginal(original, metadata: [], for: "a")
    var random = SeededRandom(seed: 4)
    var pictures: [StyledPicture] = []
    for format in PixelFormat.allCases {
      let layout = try #require(BitmapLayout(width: 7, height: 5, bytesPerRow: 64, format: format))
      let bitmap = try Bitmap(layout: layout) { span in
        span.withUnsafeMutableBytes {
          for index in $0.indices { $0[index] = UInt8(truncatingIfNeeded: random.next()) }
        }
      }
      let hasNoAlpha = [.rgb565, .gray8, .bgrx8888, .rgbx8888].contains(format)
      let style =
        hasNoAlpha
        ? try ImageStyle.rectangle(7, 5, format: format) : try .circle(7, borderWidth: 1, scale: 2, format: format)
      pictures.append(StyledPicture(style, .pixels(bitmap), metadata: [format.rawValue]))
    }
    pictures.append(encoded(try .square(9), [4, 5, 6], [1, 0, 1]))
    let long = try ImageStyle.free(
      String(repeating: "n", count: 64), version: 999_999_999, parameter: String(repeating: "é/", count: 15)
    ) { picture, _ in picture }
    pictures.append(encoded(long, [7]))
    let answered = try await fixture.storage.saveStyled(pictures, madeFrom: digest(original), for: "a")
    #expect(answered.count == pictures.count)
    for round in 0..<2 {
      for (picture, answer) in zip(pictures, answered) {
        let expected = StyledParts(StoredStyled(picture.content, metadata: picture.metadata))
        #expect(StyledParts(answer) == expected)
        let found = try await fixture.storage.styled(picture.style, for: "a")
        #expect(parts(found) == expected, "\(picture.style) \(round)")
      }
      #expect(try await fixture.storage.styled(.square(11), for: "a") == nil)
      #expect(try await fixture.storage.styled(.square(9), for: "b") == nil)
      if round == 0 { try fixture.reopen() }
    }
  }

  @Test(arguments: StorageKind.allCases)
  func styleOfAnotherOriginalIsAMiss(_ kind: StorageKind) async throws {
    let fixture = try StorageFixture(kind)
    let storage = fixture.storage
    let (square, circle) = (try ImageStyle.square(10), try ImageStyle.circle(10))
    let (old, new): ([UInt8], [UInt8]) = ([1], [2])
    try await storage.saveOriginal(old, metadata: [], for: "a")
    _ = try await storage.saveStyled([encoded(square, [1]), encoded(circle, [1])], madeFrom: digest(old), for: "a")
    try await storage.saveOriginal(old, metadata: [], for: "b")
    _ = try await storage.saveStyled([encoded(square, [1])], madeFrom: digest(old), for: "b")
    try await storage.saveOriginal(new, metadata: [], for: "a")
    for style in [square, circle] { #expect(try await storage.styled(style, for: "a") == nil) }
    // These pictures come too late: they are returned and not kept.
    let late = try await storage.saveStyled(
      [encoded(square, [3], [4]), encoded(circle, [5])], madeFrom: digest(old), for: "a")
    #expect(late.map { StyledParts($0).bytes } == [[3], [5]] && late[0].metadata == [4])
    for style in [square, circle] { #expect(try await storage.styled(style, for: "a") == nil) }
    _ = try await storage.saveStyled([encoded(square, [6])], madeFrom: digest(new), for: "a")
    #expect(parts(try await storage.styled(square, for: "a"))?.bytes == [6])
    #expect(try await storage.styled(circle, for: "a") == nil)
    try fixture.reopen()
    #expect(parts(try await fixture.storage.styled(square, for: "a"))?.bytes == [6])
    #expect(parts(try await fixture.storage.styled(square, for: "b"))?.bytes == [1])
  }

  @Test(arguments: StorageKind.allCases)
  func stylesAreKeptWithoutTheirOriginal(_ kind: StorageKind) async throws {
    let fixture = try StorageFixture(kind)
    let square = try ImageStyle.square(10)
    _ = try await fixture.storage.saveStyled([encoded(square, [1])], madeFrom: digest([9]), for: "a")
    #expect(parts(try await fixture.storage.styled(square, for: "a"))?.bytes == [1])
    #expect(try await fixture.storage.original(for: "a") == nil)
    // The next original is not the one that the style was made from.
    try await fixture.storage.saveOriginal([8], metadata: [], for: "a")
    #expect(try await fixture.storage.styled(square, for: "a") == nil)
  }

  @Test(arguments: StorageKind.allCases)
  func emptyCallsSucceed(_ kind: StorageKind) async throws {
    let fixture = try StorageFixture(kind)
    #expect(try await fixture.storage.saveStyled([], madeFrom: digest([1]), for: "a").isEmpty)
    try await fixture.storage.remove([])
    try await fixture.storage.remove(["a"])
    try await fixture.storage.retain(only: [], prefix: nil)
    #expect(try await fixture.storage.placeholder(.square(10), for: "a") == nil)
  }

  // MARK: Keys

  static let oddKeys = [
    "", " ", "/", "..", "../../etc/passwd", "a", "A", "a/", "a\0b", "a\0", "\n", "é", "e\u{301}", "🐈‍⬛",
    "'; DROP TABLE original",
    "%", "_", "original", "https://example.org/ü?x=[1]#y", String(repeating: "/", count: 300),
    String(repeating: "k", count: 4000), String(repeating: "l", count: 65_536),
  ]

  @Test(arguments: StorageKind.allCases)
  func everyKeyHasItsOwnPicture(_ kind: StorageKind) async throws {
    let fixture = try StorageFixture(kind)
    let square = try ImageStyle.square(10)
    for (index, key) in Self.oddKeys.enumerated() {
      let picture = [UInt8(index), 1]
      try await fixture.storage.saveOriginal(picture, metadata: [UInt8(index)], for: key)
      _ = try await fixture.storage.saveStyled(
        [encoded(square, [UInt8(index), 2])], madeFrom: digest(picture), for: key)
    }
    try fixture.reopen()
    func check(_ isThere: (Int) -> Bool) async throws {
      for (index, key) in Self.oddKeys.enumerated() {
        let name = key.prefix(20).debugDescription
        let found = try await fixture.storage.original(for: key)
        #expect(bytes(found) == (isThere(index) ? [UInt8(index), 1] : nil), "\(name)")
        let styled = try await fixture.storage.styled(square, for: key)
        #expect(parts(styled)?.bytes == (isThere(index) ? [UInt8(index), 2] : nil), "\(name)")
      }
    }
    try await check { _ in true }
    try await fixture.storage.remove(
      Self.oddKeys.enumerated().filter { $0.offset % 3 == 0 }.map(\.element) + ["none"])
    try await check { $0 % 3 != 0 }
    try await fixture.storage.retain(
      only: Self.oddKeys.enumerated().filter { $0.offset % 2 == 0 }.map(\.element), prefix: nil)
    try await check { $0 % 3 != 0 && $0 % 2 == 0 }
    try await fixture.storage.retain(only: [], prefix: nil)
    try await check { _ in false }
  }

  @Test(arguments: StorageKind.allCases)
  func keyAboveTheLimitOfAStoreIsAnErrorOrStored(_ kind: StorageKind) async throws {
    let fixture = try StorageFixture(kind)
    let key = String(repeating: "x", count: 70_000)
    do {
      try await fixture.storage.saveOriginal([1], metadata: [], for: key)
      #expect(bytes(try await fixture.storage.original(for: key)) == [1])
    } catch {
      #expect(kind == .store)
      #expect(try await fixture.storage.original(for: key) == nil)
    }
  }

  @Test(arguments: StorageKind.allCases)
  func retainAffectsOnlyKeysWithThePrefix(_ kind: StorageKind) async throws {
    let fixture = try StorageFixture(kind)
    let storage = fixture.storage
    let square = try ImageStyle.square(10)
    for key in ["shop/1", "shop/2", "shop/3", "shop", "avatar/1", "avatar/2"] {
      try await storage.saveOriginal([1], metadata: [], for: key)
      _ = try await storage.saveStyled([encoded(square, [2])], madeFrom: digest([1]), for: key)
    }
    // A key that has only styles.
    _ = try await storage.saveStyled([encoded(square, [2])], madeFrom: digest([1]), for: "shop/4")
    try await storage.retain(only: ["shop/2", "avatar/1", "nobody"], prefix: "shop/")
    func isThere(_ key: String) async throws -> Bool {
      let isStyled = try await storage.styled(square, for: key) != nil
      let hasOriginal = try await storage.original(for: key) != nil
      #expect(isStyled == hasOriginal, "\(key)")
      return isStyled
    }
    for (key, expected) in [
      ("shop/1", false), ("shop/2", true), ("shop/3", false), ("shop/4", false), ("shop", true), ("avatar/1", true),
      ("avatar/2", true),
    ] {
      #expect(try await isThere(key) == expected, "\(key)")
    }
    try await storage.retain(only: ["shop"], prefix: "")
    #expect(try await isThere("shop"))
    #expect(try await !isThere("avatar/1"))
  }

  // MARK: At once

  @Test(arguments: StorageKind.allCases)
  func concurrentCallsSeeWholePictures(_ kind: StorageKind) async throws {
    let fixture = try StorageFixture(kind)
    let storage = fixture.storage
    let styles = [try ImageStyle.square(10), try .circle(10)]
    await withTaskGroup(of: Void.self) { group in
      for writer in 0..<4 {
        group.addTask {
          do {
            for round in 0..<25 {
              let key = "\((writer + round) % 3)"
              let value = UInt8(writer * 25 + round)
              let picture = [UInt8](repeating: value, count: 5000)
              try await storage.saveOriginal(picture, metadata: [value], for: key)
              _ = try await storage.saveStyled(
                styles.map { encoded($0, [value]) }, madeFrom: digest(picture), for: key)
              if round % 10 == 9 { try await storage.remove([key]) }
              if round % 12 == 11 { try await storage.retain(only: ["0", "1"], prefix: nil) }
            }
          } catch {
            Issue.record(error)
          }
        }
      }
      for _ in 0..<4 {
        group.addTask {
          do {
            for round in 0..<100 {
              let key = "\(round % 3)"
              if let found = try await storage.original(for: key) {
                let all = Set(bytes(found) ?? [])
                #expect(found.bytes.count == 5000 && all.count == 1 && found.metadata == Array(all))
              }
              if let styled = try await storage.styled(styles[round % 2], for: key) {
                #expect(StyledParts(styled).bytes.count == 1)
              }
            }
          } catch {
            Issue.record(error)
          }
        }
      }
    }
    // At the end, each styled picture belongs to its key's original.
    for key in ["0", "1", "2"] {
      guard let original = bytes(try await storage.original(for: key)) else { continue }
      for style in styles {
        guard let styled = parts(try await storage.styled(style, for: key)) else { continue }
        #expect(styled.bytes == [original[0]])
      }
    }
  }
}
