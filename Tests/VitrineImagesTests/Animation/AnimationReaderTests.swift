import PictureFiles
import Testing

@testable import VitrineImages

@Suite struct AnimationReaderTests {
  static let red = RGBA(200, 10, 20)
  static let blue = RGBA(30, 40, 250)
  static let clear = RGBA(0, 0, 0, 0)

  enum Kind: String, CaseIterable {
    #if MoreFormats
      case gif
    #endif
    case png, webp

    func bytes(_ file: AnimatedFile) throws -> [UInt8] {
      switch self {
      #if MoreFormats
        case .gif: file.gif
      #endif
      case .png: file.png
      case .webp: try file.webp
      }
    }
  }

  /// A picture of 8 x 6 pixels whose second frame covers a part.
  static func file(_ change: (inout AnimatedFile) -> Void = { _ in }) -> AnimatedFile {
    var second = AnimatedFile.Frame(4, 2) { x, _ in x == 0 ? clear : blue }
    (second.left, second.top) = (2, 2)
    var file = AnimatedFile(8, 6, [.init(8, 6) { _, _ in red }, second, .init(2, 2) { _, _ in blue }])
    change(&file)
    return file
  }

  static func frames(_ bytes: [UInt8], _ decoder: any PictureDecoding = ImageDecoder()) throws -> [AnimationFrame] {
    guard let reader = try AnimationReader(bytes, decoder: decoder) else { return [] }
    var frames: [AnimationFrame] = []
    while let frame = try reader.next() { frames.append(frame) }
    return frames
  }

  /// Draws the frames pixel by pixel, without the code under test.
  static func model(_ file: AnimatedFile) -> [[RGBA]] {
    var canvas = [RGBA](repeating: clear, count: file.width * file.height)
    var shown: [[RGBA]] = []
    for frame in file.frames {
      let before = canvas
      var places: [Int] = []
      for (index, color) in frame.colors.enumerated() {
        let (x, y) = (frame.left + index % frame.width, frame.top + index / frame.width)
        if x >= file.width || y >= file.height { continue }
        let place = y * file.width + x
        places.append(place)
        canvas[place] = frame.isBlended ? over(color, canvas[place]) : color
      }
      shown.append(canvas)
      switch frame.disposal {
      case .keep: break
      case .clear: for place in places { canvas[place] = clear }
      case .restore: canvas = before
      }
    }
    return shown
  }

  /// The operator `over`, in floating point.
  static func over(_ color: RGBA, _ below: RGBA) -> RGBA {
    let (a, b) = (Double(color.alpha) / 255, Double(below.alpha) / 255 * (1 - Double(color.alpha) / 255))
    if a + b == 0 { return below }
    func mixed(_ channel: KeyPath<RGBA, UInt8>) -> UInt8 {
      UInt8(((Double(color[keyPath: channel]) * a + Double(below[keyPath: channel]) * b) / (a + b)).rounded())
    }
    return RGBA(mixed(\.red), mixed(\.green), mixed(\.blue), UInt8(((a + b) * 255).rounded()))
  }

  static func expectNear(_ frames: [AnimationFrame], _ expected: [[RGBA]], _ name: String) {
    #expect(frames.count == expected.count, "\(name)")
    for (frame, colors) in zip(frames, expected) {
      for (index, (color, wanted)) in zip(frame.image.colors, colors).enumerated() {
        // The colors of invisible pixels have no meaning.
        if color.alpha == 0, wanted.alpha == 0 || color.isNear(wanted, within: 1) { continue }
        #expect(color.isNear(wanted, within: 1), "\(name), frame \(frame.index), pixel \(index): \(color), \(wanted)")
        if !color.isNear(wanted, within: 1) { return }
      }
    }
  }

  @Test(arguments: Kind.allCases) func eachFrameAddsToThePictureBefore(_ kind: Kind) throws {
    let file = Self.file()
    let frames = try Self.frames(kind.bytes(file))
    Self.expectNear(frames, Self.model(file), kind.rawValue)
    #expect(frames.map(\.index) == [0, 1, 2])
    #expect(frames.allSatisfy { $0.image.size == PixelSize(width: 8, height: 6) && $0.image.info.isAnimated })
    #expect(frames[2].image.color(2, 2) == Self.red && frames[2].image.color(3, 2) == Self.blue)
  }

  @Test(arguments: Kind.allCases) func framesAreDisposedOfAsTheFileAsks(_ kind: Kind) throws {
    for disposal in AnimatedFile.Disposal.allCases where kind != .webp || disposal != .restore {
      let file = Self.file { $0.frames[1].disposal = disposal }
      let frames = try Self.frames(kind.bytes(file))
      Self.expectNear(frames, Self.model(file), "\(kind), \(disposal)")
      let expected = [.keep: Self.blue, .clear: Self.clear, .restore: Self.red][disposal]
      #expect(frames[2].image.color(4, 3) == expected)
    }
  }

  @Test func framesReplacePixelsIfTheFileAsksForIt() throws {
    let file = Self.file { $0.frames[1].isBlended = false }
    for kind in [Kind.png, .webp] {
      let frames = try Self.frames(kind.bytes(file))
      Self.expectNear(frames, Self.model(file), kind.rawValue)
      #expect(frames[1].image.color(2, 2).alpha == 0)
    }
  }

  @Test func partialTransparencyIsBlended() throws {
    let file = Self.file { file in
      file.frames[1].colors = (0..<8).map { RGBA(UInt8($0 * 30), 90, 255, UInt8($0 * 36)) }
      file.frames[0].colors = (0..<48).map { RGBA(UInt8($0 * 5), 250, 7, UInt8(255 - $0 * 5)) }
    }
    Self.expectNear(try Self.frames(file.png), Self.model(file), "png")
  }

  @Test(arguments: Kind.allCases) func randomAnimationsLookLikeThoseOfTheModel(_ kind: Kind) throws {
    for seed in stride(from: UInt64(0), to: 200, by: Thoroughness.stride) {
      var random = SeededRandom(seed: seed)
      func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
      let (width, height) = (number(1...12), number(1...12))
      let frames = (0..<number(2...6)).map { index in
        var frame = AnimatedFile.Frame(number(1...width), number(1...height)) { x, y in
          let alpha = kind == .png ? number(0...255) : number(0...1) * 255
          return RGBA(UInt8(number(0...3) * 80), UInt8(number(0...3) * 80), UInt8(number(0...3) * 80), UInt8(alpha))
        }
        frame.left = number(0...width - frame.width) & (kind == .webp ? ~1 : ~0)
        frame.top = number(0...height - frame.height) & (kind == .webp ? ~1 : ~0)
        frame.disposal = AnimatedFile.Disposal(rawValue: number(0...(kind == .webp ? 1 : 2)))!
        #if MoreFormats
          frame.isBlended = kind == .gif || number(0...1) == 0
        #else
          frame.isBlended = number(0...1) == 0
        #endif
        return frame
      }
      let file = AnimatedFile(width, height, frames)
      Self.expectNear(try Self.frames(kind.bytes(file)), Self.model(file), "\(kind), seed \(seed)")
    }
  }

  @Test(arguments: Kind.allCases) func timesAndPlaysAreThoseOfTheFile(_ kind: Kind) throws {
    for playCount in [0, 1, 7] {
      let file = Self.file { file in
        file.playCount = playCount
        file.frames[0].milliseconds = 10
        file.frames[1].milliseconds = 20
        file.frames[2].milliseconds = 3000
      }
      let reader = try #require(try AnimationReader(kind.bytes(file)))
      #expect(reader.durations == [.milliseconds(100), .milliseconds(20), .seconds(3)])
      // A GIF that says how often to repeat it cannot say that it plays once.
      #expect(reader.playCount == (playCount == 0 ? nil : playCount) || "\(kind)" == "gif" && playCount == 1)
      #expect(reader.frameCount == 3 && reader.size == PixelSize(width: 8, height: 6))
    }
  }

  @Test(arguments: Kind.allCases) func rewindingBeginsAnew(_ kind: Kind) throws {
    let reader = try #require(try AnimationReader(kind.bytes(Self.file { $0.frames[1].disposal = .clear })))
    let first = try #require(try reader.next()).image.colors
    _ = try reader.next()
    _ = try reader.next()
    let end = try reader.next()
    #expect(end == nil)
    reader.rewind()
    let again = try #require(try reader.next())
    #expect(again.index == 0 && again.image.colors == first)
  }

  @Test func picturesOfOneFrameAreNoAnimations() throws {
    for sample in SamplePicture.allCases where !sample.rawValue.contains("animated") {
      let reader = try AnimationReader(sample.file)
      #expect(reader == nil, "\(sample)")
    }
    for kind in Kind.allCases {
      let reader = try AnimationReader(kind.bytes(Self.file { $0.frames.removeLast(2) }))
      #expect(reader == nil, "\(kind)")
    }
    #expect(throws: ImageError.unsupportedFormat(found: "no bytes")) { _ = try AnimationReader([]) }
  }

  // MARK: PNG

  @Test func pictureForOtherProgramsIsNoFrame() throws {
    let file = Self.file()
    Self.expectNear(try Self.frames(file.png(hasOwnDefault: true)), Self.model(file), "png")
    #expect(try ImageDecoder().decode(file.png(hasOwnDefault: true)).color(0, 0) == RGBA(255, 255, 255))
  }

  @Test func damagedFrameOfAPNGIsAnError() throws {
    let file = Self.file().png
    let data = try #require(file.indices.last { file[$0...].starts(with: "fdAT".utf8) })
    var damaged = file
    damaged[data + 20] ^= 1
    let reader = try #require(try AnimationReader(damaged))
    for _ in 0..<2 { #expect(try reader.next() != nil) }
    for _ in 0..<2 {
      #expect(throws: ImageError.corrupt(.png, reason: "a wrong checksum of a frame")) { try reader.next() }
    }
    damaged = file
    damaged[data + 7] ^= 1
    #expect(throws: ImageError.corrupt(.png, reason: "frames in a wrong order")) {
      try Self.frames(PNGFile.sealed(damaged))
    }
  }

  // MARK: Damage

  /// Each beginning of a file gives whole frames, as many as it has, and then an error or the end.
  @Test(arguments: Kind.allCases) func truncatedAnimationsGiveTheFramesBefore(_ kind: Kind) throws {
    let file = Self.file()
    let (bytes, model) = (try kind.bytes(file), Self.model(file))
    for count in 12..<bytes.count {
      var frames: [AnimationFrame] = []
      do throws(ImageError) {
        guard let reader = try AnimationReader(Array(bytes[..<count])) else { continue }
        while let frame = try reader.next() { frames.append(frame) }
        // Only the mark of the end is missing.
        #expect(frames.count == 3 || "\(kind)" == "gif", "\(count) of \(bytes.count) bytes")
      } catch {
        if case .truncated = error {} else { Issue.record("\(kind), \(count) of \(bytes.count) bytes: \(error)") }
      }
      Self.expectNear(frames, Array(model.prefix(frames.count)), "\(kind), \(count) bytes")
    }
  }

  @Test(arguments: Kind.allCases) func changedAnimationsAreErrorsOrPictures(_ kind: Kind) async throws {
    let file = try kind.bytes(Self.file())
    let decoder = ImageDecoder(
      limits: DecodingLimits(side: 4096, pixelCount: 1 << 18, byteCount: 4 << 20, milliseconds: 5000))
    var frameCount = 0
    for seed in stride(from: 0, to: 4000, by: Thoroughness.stride) {
      if seed % 200 == 0 { await Task.yield() }
      var random = SeededRandom(seed: UInt64(seed))
      var bytes = file
      for _ in 0...Int.random(in: 0...3, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      if "\(kind)" == "png", seed % 2 == 0 { bytes = PNGFile.sealed(bytes) }
      do throws(ImageError) {
        guard let reader = try AnimationReader(bytes, decoder: decoder) else { continue }
        while let frame = try reader.next() {
          frameCount += 1
          #expect(frame.image.size == reader.size)
        }
      } catch {
        switch error {
        case .unsupportedFormat, .truncated, .corrupt, .tooLarge: break
        default: Issue.record("\(kind), seed \(seed): \(error)")
        }
      }
    }
    #expect(frameCount > 0)
  }

  @Test(arguments: Kind.allCases) func limitsHold(_ kind: Kind) throws {
    let bytes = try kind.bytes(Self.file())
    func reader(_ limits: DecodingLimits) throws -> AnimationReader? {
      try AnimationReader(bytes, decoder: ImageDecoder(limits: limits))
    }
    #expect(throws: ImageError.tooLarge(width: 8, height: 6, limit: "2 frames")) { try reader(.init(frameCount: 2)) }
    #expect(throws: ImageError.tooLarge(width: 8, height: 6, limit: "7 pixels a side")) { try reader(.init(side: 7)) }
    #expect(throws: ImageError.tooLarge(width: 8, height: 6, limit: "767 bytes of memory")) {
      try reader(.init(byteCount: 767))
    }
    #expect(try reader(.init(byteCount: 768, frameCount: 3)) != nil)
  }

  @Test func partsOutsideOfTheCanvasAreLeftOut() throws {
    #if MoreFormats
      let file = Self.file { file in
        (file.frames[1].left, file.frames[1].top) = (6, 5)
        (file.frames[2].left, file.frames[2].top) = (8, 6)
        file.frames[1].disposal = .restore
      }
      Self.expectNear(try Self.frames(file.gif), Self.model(file), "gif")
    #endif
    // In the other formats such a frame is damage.
    for kind in [Kind.png, .webp] {
      let bytes = try kind.bytes(Self.file { $0.frames[2].left = 8 })
      #expect { try Self.frames(bytes) } throws: { error in
        if case .corrupt? = error as? ImageError { true } else { false }
      }
    }
  }
}
