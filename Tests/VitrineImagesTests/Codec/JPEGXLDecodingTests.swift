#if MoreFormats
  import PictureFiles
  import Testing

  @testable import VitrineImages

  @Suite struct JPEGXLDecodingTests {
    private let decoder = ImageDecoder()
    private static let files: [[UInt8]] = [
      JPEGXLFile.lossy, JPEGXLFile.lossless, JPEGXLFile.withAlpha, JPEGXLFile.gray, JPEGXLFile.contained,
      JPEGXLFile.animated, JPEGXLFile.turned, JPEGXLFile.displayP3,
    ]

    @Test(arguments: [
      JPEGXLFile.lossy, JPEGXLFile.lossless, JPEGXLFile.withAlpha, JPEGXLFile.contained, JPEGXLFile.animated,
    ]) func bothHalvesAreDecoded(_ file: [UInt8]) throws {
      let image = try decoder.decode(file)
      #expect(image.info.format == .jpegXL && image.size == PixelSize(width: 16, height: 8))
      #expect(image.orientation == .upright && image.info.bitsPerChannel == 8)
      #expect(image.hasAlpha == (file == JPEGXLFile.withAlpha || file == JPEGXLFile.animated))
      #expect(image.info.isAnimated == (file == JPEGXLFile.animated))
      let distance = file == JPEGXLFile.lossy ? 2 : 0
      #expect(image.color(0, 0).isNear(RGBA(200, 40, 40), within: distance), "\(image.color(0, 0))")
      let alpha: UInt8 = file == JPEGXLFile.withAlpha ? 100 : 255
      #expect(image.color(15, 7).isNear(RGBA(40, 80, 200, alpha), within: distance), "\(image.color(15, 7))")
    }

    @Test func grayIsDecoded() throws {
      let image = try decoder.decode(JPEGXLFile.gray)
      #expect(!image.hasAlpha)
      #expect(image.color(7, 3) == RGBA(60, 60, 60) && image.color(8, 3) == RGBA(180, 180, 180))
    }

    @Test func samplesOfMoreThan16BitsAreDecodedTo16() throws {
      let process = ProcessDecoder(executable: Programs.decoder)
      for decoder in [decoder, process] as [any PictureDecoding] {
        let image = try decoder.decode(JPEGXLFile.floatingPoint)
        #expect(image.info.bitsPerChannel == 16)
        #expect(image.color(0, 0) == RGBA(255, 0, 0) && image.color(15, 7) == RGBA(0, 0, 255))
      }
    }

    /// The file has the pixels as the camera took them.
    @Test func orientationIsThatOfTheCodestream() throws {
      let image = try decoder.decode(JPEGXLFile.turned)
      #expect(image.size == PixelSize(width: 16, height: 8) && image.orientation == .turnedLeft)
      #expect(image.color(0, 0).isNear(RGBA(200, 40, 40), within: 3), "\(image.color(0, 0))")
    }

    @Test func codesOfColorsAreApplied() throws {
      let image = try decoder.decode(JPEGXLFile.displayP3)
      let conversion = ColorConversion(ColorProfile.displayP3.bytes, ColorProfile.Format.rgb8)
      for (x, plain) in [(0, [200, 40, 40] as [UInt8]), (15, [40, 80, 200])] {
        let expected = conversion(plain)
        let color = image.color(x, 0)
        #expect(color.isNear(RGBA(expected[0], expected[1], expected[2]), within: 2), "\(color)")
      }
    }

    @Test(arguments: 0..<8) func processGivesTheSamePicture(_ index: Int) throws {
      let file = Self.files[index]
      let image = try ProcessDecoder(executable: Programs.decoder).decode(file)
      #expect(try image.colors == decoder.decode(file).colors && image.info == decoder.info(of: file))
    }

    @Test(arguments: 0..<8) func truncatedFileIsAnError(_ index: Int) throws {
      let file = Self.files[index]
      for count in 0..<file.count - (index == 5 ? 45 : 4) {
        #expect(throws: ImageError.self, "\(count) bytes") { try decoder.decode(Array(file[..<count])) }
      }
    }

    @Test(arguments: 0..<8) func changedFilesAreErrorsOrPictures(_ index: Int) async throws {
      let file = Self.files[index]
      let limits = DecodingLimits(side: 4096, pixelCount: 1 << 18, byteCount: 16 << 20, milliseconds: 5000)
      for seed in stride(from: 0, to: 1000, by: Thoroughness.stride) {
        if seed % 50 == 0 { await Task.yield() }
        var random = SeededRandom(seed: UInt64(seed))
        var changed = file
        for _ in 0...random.below(4) { changed[random.below(file.count)] = UInt8(random.below(256)) }
        do throws(ImageError) {
          let image = try ImageDecoder(limits: limits).decode(changed)
          #expect(image.size.width * image.size.height <= limits.pixelCount)
        } catch {
          switch error {
          case .unsupportedFormat, .truncated, .corrupt, .tooLarge, .tookTooLong, .outOfMemory: break
          default: Issue.record("seed \(seed): \(error)")
          }
        }
      }
    }

    /// 40 bytes for each pixel, 56 with alpha, and 4 of the decoded picture.
    @Test func memoryOfTheLibraryCounts() throws {
      var limits = DecodingLimits()
      limits.byteCount = 16 * 8 * (4 + 40)
      #expect(throws: Never.self) { try ImageDecoder(limits: limits).decode(JPEGXLFile.lossless) }
      limits.byteCount -= 1
      #expect { try ImageDecoder(limits: limits).decode(JPEGXLFile.lossless) } throws: {
        if case .tooLarge = $0 as? ImageError { true } else { false }
      }
      limits.byteCount = 16 * 8 * (4 + 56) - 1
      #expect(throws: ImageError.self) { try ImageDecoder(limits: limits).decode(JPEGXLFile.withAlpha) }
    }
  }
#endif
