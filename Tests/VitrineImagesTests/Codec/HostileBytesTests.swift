import Testing

@testable import VitrineImages

/// Damaged files decode to an error or to a complete picture.
@Suite struct HostileBytesTests {
  private static let limits = DecodingLimits(side: 4096, pixelCount: 1 << 18, byteCount: 4 << 20, milliseconds: 5000)

  /// Returns nil for an error that bytes can cause. Any other error fails the test.
  private static func decode(
    _ decoder: any PictureDecoding, _ bytes: [UInt8], atLeast size: PixelSize?, _ name: @autoclosure () -> String
  ) -> DecodedImage? {
    do throws(ImageError) {
      let image = try decoder.decode(bytes, atLeast: size)
      #expect(image.memory.bytes.count >= image.size.height * image.bytesPerRow, "\(name())")
      #expect(
        image.size.width * 4 <= image.bytesPerRow && image.size.width > 0 && image.size.height > 0, "\(name())")
      return image
    } catch {
      switch error {
      case .unsupportedFormat, .truncated, .corrupt, .tooLarge: break
      default: Issue.record("\(name()): \(error)")
      }
      return nil
    }
  }

  @Test func everySampleHasTheFeaturesOfItsName() throws {
    for sample in SamplePicture.allCases {
      let info = try ImageDecoder().info(of: sample.file)
      #expect(info.format == sample.format, "\(sample)")
      switch sample {
      case .progressiveJPEG: #expect(info.isProgressive)
      case .cmykJPEG, .ycckJPEG: #expect(info.colors == .cmyk)
      case .turnedJPEG, .palettePNG: #expect(info.orientation != .upright)
      case .deepPNG: #expect(info.bitsPerChannel == 16 && !info.isProgressive)
      case .interlacedPNG: #expect(info.bitsPerChannel == 16 && info.isProgressive)
      case .lossyWebP: #expect(!info.isLossless && !info.hasAlpha && !info.isAnimated)
      case .lossyWebPWithAlpha: #expect(!info.isLossless && info.hasAlpha && !info.isAnimated)
      case .losslessWebP: #expect(info.isLossless && !info.hasAlpha)
      case .losslessWebPWithAlpha: #expect(info.isLossless && info.hasAlpha)
      case .animatedWebP: #expect(info.isAnimated)
      #if MoreFormats
        case .gif: #expect(info.isProgressive && !info.isAnimated && !info.hasAlpha)
        case .animatedGIF: #expect(info.isAnimated && info.hasAlpha)
      #endif
      default: #expect(!info.isProgressive && !info.isAnimated)
      }
    }
  }

  @Test(arguments: SamplePicture.allCases)
  func truncatedPictureIsAnErrorOrComplete(_ sample: SamplePicture) throws {
    let file = try sample.file
    let whole = try ImageDecoder().decode(file).colors
    #expect(throws: ImageError.unsupportedFormat(found: "no bytes")) { try ImageDecoder().decode([]) }
    for count in 1..<file.count {
      do throws(ImageError) {
        let image = try ImageDecoder(limits: Self.limits).decode(Array(file[..<count]))
        #expect(image.colors == whole, "\(count) of \(file.count) bytes")
      } catch {
        if count >= 4 { #expect(error == .truncated(sample.format), "\(count) of \(file.count) bytes") }
      }
    }
  }

  @Test(arguments: SamplePicture.allCases)
  func tenThousandChangedFilesAreErrorsOrPictures(_ sample: SamplePicture) async throws {
    let file = try sample.file
    let decoder = ImageDecoder(limits: Self.limits)
    var pictureCount = 0
    for seed in stride(from: 0, to: 10_000, by: Thoroughness.stride) {
      // Lets other tests run.
      if seed % 200 == 0 { await Task.yield() }
      let (bytes, size) = sample.changed(file, seed: seed)
      if Self.decode(decoder, bytes, atLeast: size, "\(sample), seed \(seed)") != nil { pictureCount += 1 }
    }
    // Changes that never or always give an error test nothing.
    #expect(pictureCount > 0 && pictureCount < 10_000, "\(pictureCount)")
  }

  /// The process gets 32 MiB beyond the limits and the program's own needs. A picture that takes more is refused the
  /// memory, which is an error of another kind.
  @Test(arguments: SamplePicture.allCases)
  func damagedPictureNeverExceedsTheMemoryLimit(_ sample: SamplePicture) async throws {
    let file = try sample.file
    var options = ProcessDecoder.Options(limits: Self.limits)
    options.processCount = 1
    options.furtherByteCount = 32 << 20
    options.graceMilliseconds = 60_000
    options.picturesPerProcess = .max
    let decoder = ProcessDecoder(executable: Programs.decoder, options: options)
    _ = try decoder.decode(file)
    let process = decoder.processIdentifiers
    for count in stride(from: 1, to: file.count, by: Thoroughness.stride) {
      _ = Self.decode(decoder, Array(file[..<count]), atLeast: nil, "\(sample), \(count) bytes")
    }
    let isFirstOfItsFormat = sample == SamplePicture.allCases.first { $0.format == sample.format }
    for seed in stride(from: 0, to: isFirstOfItsFormat ? 10_000 : 1000, by: Thoroughness.stride) {
      // Lets other tests run.
      if seed % 200 == 0 { await Task.yield() }
      let (bytes, size) = sample.changed(file, seed: seed)
      _ = Self.decode(decoder, bytes, atLeast: size, "\(sample), seed \(seed)")
    }
    // One process decoded everything, so no picture ended it, and no memory leaked.
    #expect(decoder.processIdentifiers == process && process.count == 1)
  }
}
