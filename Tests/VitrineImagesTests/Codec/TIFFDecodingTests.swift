#if MoreFormats
  import PictureFiles
  import Testing

  @testable import VitrineImages

  @Suite struct TIFFDecodingTests {
    private let decoder = ImageDecoder()

    @Test(arguments: [false, true], [8, 16]) func threeColorsAreRead(_ isLittleEndian: Bool, _ depth: Int) throws {
      let scale = depth == 16 ? 257 : 1
      var file = TIFFFile(width: 7, height: 5) { x, y in [x * 30 * scale, y * 40 * scale, 9 * scale] }
      (file.isLittleEndian, file.depth) = (isLittleEndian, depth)
      let image = try decoder.decode(file.bytes)
      #expect(image.info.format == .tiff && image.size == PixelSize(width: 7, height: 5) && !image.hasAlpha)
      #expect(image.info.bitsPerChannel == depth && image.info.colors == .rgb)
      for y in 0..<5 {
        for x in 0..<7 { #expect(image.color(x, y).isNear(RGBA(UInt8(x * 30), UInt8(y * 40), 9), within: 1)) }
      }
    }

    @Test func grayAndAlphaAreRead() throws {
      var gray = TIFFFile(width: 3, height: 3) { x, y in [x * 100 + y] }
      gray.sampleCount = 1
      let image = try decoder.decode(gray.bytes)
      #expect(image.info.colors == .gray && image.color(2, 1) == RGBA(201, 201, 201))
      var glass = TIFFFile(width: 3, height: 3) { x, _ in [200, 100, 50, x * 127] }
      glass.sampleCount = 4
      let other = try decoder.decode(glass.bytes)
      #expect(other.hasAlpha && other.color(0, 0).alpha == 0)
      #expect(other.color(1, 2).isNear(RGBA(200, 100, 50, 127), within: 2), "\(other.color(1, 2))")
      #expect(other.color(2, 0).isNear(RGBA(200, 100, 50, 254), within: 2))
    }

    @Test(arguments: Orientation.allCases) func pixelsComeAsStored(_ orientation: Orientation) throws {
      var file = TIFFFile(width: 4, height: 3) { x, y in [x * 50, y * 50, 0] }
      file.orientation = orientation.rawValue
      let image = try decoder.decode(file.bytes)
      #expect(image.orientation == orientation && image.color(3, 2) == RGBA(150, 100, 0))
      #expect(image.color(0, 0) == RGBA(0, 0, 0) && image.color(3, 0) == RGBA(150, 0, 0))
    }

    @Test func profileIsApplied() throws {
      var file = TIFFFile(width: 1, height: 1) { _, _ in [186, 76, 66] }
      file.profile = ColorProfile.displayP3.bytes
      let color = try decoder.decode(file.bytes).color(0, 0)
      #expect(color.isNear(RGBA(201, 66, 60), within: 2), "\(color)")
    }

    @Test func profileOfGrayDoesNotTakeTheColors() throws {
      var file = TIFFFile(width: 1, height: 1) { _, _ in [186, 76, 66] }
      file.profile = ColorProfile.gray.bytes
      #expect(try decoder.decode(file.bytes).color(0, 0) == RGBA(186, 76, 66))
    }

    /// A file of 1 MB whose tags name the same bytes many times.
    @Test func tagsHaveALimitTogether() throws {
      var file: [UInt8] = Array("II".utf8) + [42, 0]
      let byteCount = 1_000_000
      file.appendLittle(8 + byteCount, byteCount: 4)
      file += [UInt8](repeating: 0, count: byteCount)
      var tags: [(tag: Int, type: Int, count: Int, value: Int)] = [
        (256, 4, 1, 1), (257, 4, 1, 1), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8), (277, 3, 1, 1),
        (278, 4, 1, 1), (279, 4, 1, 1),
      ]
      for number in 0..<100 { tags.append((50_000 + number, 1, byteCount, 8)) }
      file.appendLittle(tags.count, byteCount: 2)
      for (tag, type, count, value) in tags {
        file.appendLittle(tag, byteCount: 2)
        file.appendLittle(type, byteCount: 2)
        file.appendLittle(count, byteCount: 4)
        file.appendLittle(value, byteCount: 4)
      }
      file.appendLittle(0, byteCount: 4)
      #expect(throws: ImageError.self) { try decoder.decode(file) }
      #expect(throws: ImageError.self) { try decoder.info(of: file) }
    }

    @Test func compressionsWithoutALimitAreNotSupported() throws {
      let bytes = TIFFFile(width: 1, height: 1) { _, _ in [1, 2, 3] }.bytes
      let entry = try #require(bytes.indices.first { bytes[$0...].starts(with: [3, 1, 3, 0, 1, 0, 0, 0]) })
      for compression in [34925, 34661, 34887, 50001, 6] {
        var changed = bytes
        changed[entry + 8] = UInt8(compression & 255)
        changed[entry + 9] = UInt8(compression >> 8)
        #expect(throws: ImageError.self, "\(compression)") { try decoder.decode(changed) }
      }
    }

    @Test func oversizedHeaderIsRejected() throws {
      var file = TIFFFile(width: 3, height: 3) { _, _ in [1, 2, 3] }
      file.width = 60_000
      let bytes = file.bytes
      #expect(throws: ImageError.tooLarge(width: 60_000, height: 3, limit: "32768 pixels a side")) {
        try decoder.decode(bytes)
      }
    }

    @Test func truncatedAndChangedFilesAreErrorsOrPictures() async throws {
      let bytes = TIFFFile(width: 9, height: 7) { x, y in [x, y, 0] }.bytes
      let limits = DecodingLimits(side: 4096, pixelCount: 1 << 18, byteCount: 8 << 20, milliseconds: 5000)
      for count in 0..<bytes.count - 4 {
        #expect(throws: ImageError.self, "\(count) bytes") { try decoder.decode(Array(bytes[..<count])) }
      }
      for seed in stride(from: 0, to: 5000, by: Thoroughness.stride) {
        if seed % 200 == 0 { await Task.yield() }
        var random = SeededRandom(seed: UInt64(seed))
        var changed = bytes
        for _ in 0...random.below(4) {
          // Most changes are in the directory at the end.
          let offset = random.below(4) == 0 ? random.below(bytes.count) : bytes.count - 1 - random.below(140)
          changed[offset] = random.below(2) == 0 ? UInt8(random.below(256)) : [0, 1, 2, 255][random.below(4)]
        }
        do throws(ImageError) {
          let image = try ImageDecoder(limits: limits).decode(changed)
          #expect(image.size.width * image.size.height <= limits.pixelCount)
        } catch {
          switch error {
          case .unsupportedFormat, .truncated, .corrupt, .tooLarge: break
          default: Issue.record("seed \(seed): \(error)")
          }
        }
      }
    }
  }
#endif
