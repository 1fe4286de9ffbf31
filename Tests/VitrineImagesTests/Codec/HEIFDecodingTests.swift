#if MoreFormats
  import CLCMS
  import PictureFiles
  import Testing

  @testable import VitrineImages

  @Suite struct HEIFDecodingTests {
    private let decoder = ImageDecoder()
    private static let files: [([UInt8], ImageFormat, hasAlpha: Bool)] = [
      (HEIFFile.avif, .avif, false), (HEIFFile.avifWithAlpha, .avif, true), (HEIFFile.avifSequence, .avif, false),
      (HEIFFile.heic, .heic, false), (HEIFFile.heicWithAlpha, .heic, true),
    ]

    @Test(arguments: 0..<5) func bothHalvesAreDecoded(_ index: Int) throws {
      let (file, format, hasAlpha) = Self.files[index]
      let image = try decoder.decode(file)
      #expect(image.info.format == format && image.size == PixelSize(width: 16, height: 8))
      #expect(image.hasAlpha == hasAlpha && image.orientation == .upright && image.info.bitsPerChannel == 8)
      #expect(image.info.isAnimated == (index == 2))
      #expect(image.color(0, 0).isNear(RGBA(200, 40, 40), within: 8), "\(image.color(0, 0))")
      #expect(image.color(15, 0).isNear(RGBA(40, 80, 200), within: 8), "\(image.color(15, 0))")
      #expect(image.color(15, 7).isNear(RGBA(40, 80, 200, hasAlpha ? 100 : 255), within: 8), "\(image.color(15, 7))")
    }

    @Test(arguments: 0..<5) func processGivesTheSamePicture(_ index: Int) throws {
      let file = Self.files[index].0
      let image = try ProcessDecoder(executable: Programs.decoder).decode(file)
      #expect(try image.colors == decoder.decode(file).colors && image.info == decoder.info(of: file))
    }

    @Test(arguments: 0..<5) func truncatedFileIsAnError(_ index: Int) throws {
      let (file, _, _) = Self.files[index]
      for count in stride(from: 0, to: file.count - 30, by: 7) {
        #expect(throws: ImageError.self, "\(count) bytes") { try decoder.decode(Array(file[..<count])) }
      }
    }

    @Test(arguments: 0..<5) func changedFilesAreErrorsOrPictures(_ index: Int) async throws {
      let (file, _, _) = Self.files[index]
      let limits = DecodingLimits(side: 4096, pixelCount: 1 << 18, byteCount: 8 << 20, milliseconds: 5000)
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
          case .unsupportedFormat, .truncated, .corrupt, .tooLarge: break
          // libheif and libavif report some impossible lengths in a file as a lack of memory.
          case .outOfMemory: break
          default: Issue.record("seed \(seed): \(error)")
          }
        }
      }
    }

    /// libheif would follow them without an end.
    @Test func picturesMadeOfThemselvesAreRefused() throws {
      func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let count = content.count + 8
        return [UInt8(count >> 24 & 255), UInt8(count >> 16 & 255), UInt8(count >> 8 & 255), UInt8(count & 255)]
          + type.utf8
          + content
      }
      func file(_ type: String, _ reference: [UInt8]) -> [UInt8] {
        let item = box("infe", [2, 0, 0, 0, 0, 1, 0, 0] + type.utf8 + [0])
        let other = box("infe", [2, 0, 0, 0, 0, 2, 0, 0] + "hvc1".utf8 + [0])
        let meta =
          [0, 0, 0, 0] + box("pitm", [0, 0, 0, 0, 0, 1]) + box("iinf", [0, 0, 0, 0, 0, 2] + item + other)
          + box("iref", [0, 0, 0, 0] + box("dimg", reference))
        return box("ftyp", "heic".utf8 + [0, 0, 0, 0] + "mif1heic".utf8) + box("meta", meta)
      }
      // A grid of itself, one tile over and over, and two types that name other pictures.
      for bytes in [
        file("grid", [0, 1, 0, 1, 0, 1]), file("grid", [0, 1, 0, 2, 0, 2, 0, 2]), file("iden", [0, 1, 0, 1, 0, 2]),
        file("iovl", [0, 1, 0, 1, 0, 2]),
      ] {
        #expect { try decoder.decode(bytes) } throws: { "\($0)".contains("other pictures than tiles") }
      }
      // More tiles than a picture may have, in many boxes.
      let names = (0..<65_535).flatMap { [UInt8($0 >> 8 & 255), UInt8($0 & 255)] }
      let tiles: [UInt8] = [0, 1, 0xFF, 0xFF] + names
      let boxes = tiles + box("dimg", tiles)
      #expect { try decoder.decode(file("grid", boxes)) } throws: { "\($0)".contains("other pictures") }
      // The box of references is cut.
      #expect { try decoder.decode(file("grid", [0, 1, 0, 9, 0, 2])) } throws: { "\($0)".contains("other pictures") }
    }

    /// The box `nclx` has codes of H.273, in two bytes each: primaries, curve and matrix.
    @Test func codesOfAnAVIFAreApplied() throws {
      var file = HEIFFile.avif
      let codes = try #require(file.indices.first { file[$0...].starts(with: "nclx".utf8) })
      let plain = try decoder.decode(file).color(0, 0)
      file.replaceSubrange(codes + 4..<codes + 8, with: [0, 12, 0, 13])
      let image = try decoder.decode(file)
      let profile = ColorProfile.displayP3.bytes
      let expected = ColorConversion(profile, ColorProfile.Format.rgb8)([plain.red, plain.green, plain.blue])
      #expect(image.color(0, 0).isNear(RGBA(expected[0], expected[1], expected[2]), within: 2))
      #expect(image.color(0, 0) != plain)
    }
  }
#endif
