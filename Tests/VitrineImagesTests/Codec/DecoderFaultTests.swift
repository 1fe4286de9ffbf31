import Foundation
import PictureFiles
import Testing

@testable import VitrineImages

/// Decoder processes that misbehave, from `Tests/DecoderFaults`.
@Suite struct DecoderFaultTests {
  private func error(_ decoder: ProcessDecoder) -> ImageError? {
    do throws(ImageError) {
      _ = try decoder.decode(JPEGFile.gray)
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [
    ("dies of a signal", "died by signal 11 (Segmentation fault)"), ("aborts", "died by signal 6 (Aborted)"),
    ("ends", "ended with status 5"), ("closes and goes on", "closed its socket and went on"),
    ("answers noise", "answered rubbish"), ("answers half a frame", "ended with status 0"),
    ("answers another turn", "answered what it was not asked"),
    ("names another format", "answered with a header that cannot be"),
    ("names no format", "answered with a header that cannot be"),
    ("claims no width", "answered with a header that cannot be"),
    ("claims a width below nothing", "answered with a header that cannot be"),
    ("claims the largest width", "answered with a header that cannot be"),
    ("turns the picture nowhere", "answered with a header that cannot be"),
    ("has no bits", "answered with a header that cannot be"),
    ("has colours of its own", "answered with a header that cannot be"),
    ("has flags of its own", "answered with a header that cannot be"),
    ("fails for no reason", "answered with a header that cannot be"),
    ("has drawn before it was asked", "answered with a header that cannot be"),
    ("says the header again", "answered something else than was asked for"),
    ("keeps the pixels mapped", "kept the pixels to itself"), ("takes too much memory", "ended with status 9"),
  ])
  func whateverAProcessDoesIsAnErrorThatNamesIt(_ fault: String, _ reason: String) throws {
    let decoder = Programs.faulty(fault) {
      $0.limits.byteCount = 64 << 20
      $0.furtherByteCount = 64 << 20
    }
    let error = error(decoder)
    // About once in some thousand runs, the noise begins like a frame.
    if fault == "answers noise", error != .decoderDied(reason: reason) {
      #expect(error == .decoderDied(reason: "answered what it was not asked"))
    } else if fault == "takes too much memory", Thoroughness.isSanitized, error != .decoderDied(reason: reason) {
      // Under Address Sanitizer, a failed allocation ends the process before the process can report it.
      #expect(error == .decoderDied(reason: "ended with status 1"))
    } else {
      #expect(error == .decoderDied(reason: reason))
    }
    #expect(decoder.processIdentifiers.isEmpty)
  }

  @Test(arguments: ["hangs over the header", "hangs over the pixels", "takes too much time"])
  func whatTakesTooLongIsEnded(_ fault: String) throws {
    let decoder = Programs.faulty(fault) {
      // CPU time is limited in whole seconds, and at least 2 s are allowed.
      $0.limits.milliseconds = fault == "takes too much time" ? 60_000 : 100
      $0.graceMilliseconds = 100
    }
    #expect(error(decoder) == .tookTooLong(milliseconds: fault == "takes too much time" ? 60_000 : 100))
    #expect(decoder.processIdentifiers.isEmpty)
  }

  @Test func whatClaimsMoreThanIsAllowedIsAPictureThatIsTooLarge() {
    let decoder = Programs.faulty("claims more than is allowed")
    #expect(error(decoder) == .tooLarge(width: 65_535, height: 65_535, limit: "32768 pixels a side"))
    // Without limits, the only possible error is a lack of memory: the pixels need 17 GB.
    let unlimited = Programs.faulty("claims more than is allowed") {
      $0.limits = DecodingLimits(side: .max, pixelCount: .max, byteCount: .max, milliseconds: .max)
    }
    switch error(unlimited) {
    case .outOfMemory?, nil: break
    case let other: Issue.record("\(String(describing: other))")
    }
  }

  @Test func anErrorOfItsOwnIsTakenAsItIs() {
    guard case .tooLarge(.min, .max, let limit)? = error(Programs.faulty("lies about its own failure")) else {
      Issue.record("not the error that was told")
      return
    }
    #expect(limit.utf8.count <= DecoderFrame.byteCount && limit.allSatisfy { $0 == "é" })
  }

  /// A received picture stays as it is. After a fault, another process decodes the next picture.
  @Test(arguments: ["speaks unasked", "says it twice", "floods", "sends descriptors", "cuts the pixels off", "works"])
  func aPictureThatIsThereStaysAsItIs(_ fault: String) throws {
    let decoder = Programs.faulty(fault)
    for _ in 0..<5 {
      if fault == "speaks unasked" {
        #expect(error(decoder) == .decoderDied(reason: "answered something else than was asked for"))
      } else {
        // The process draws nothing, so all bytes are zero.
        #expect(try decoder.decode(JPEGFile.gray).colors.allSatisfy { $0 == RGBA(0, 0, 0, 0) })
      }
    }
  }

  @Test func pixelsCannotBeChangedLater() throws {
    let decoder = Programs.faulty("changes the pixels later")
    var images: [(image: DecodedImage, colors: [RGBA])] = []
    for _ in 0..<8 {
      do throws(ImageError) {
        let image = try decoder.decode(JPEGFile.gray)
        images.append((image, image.colors))
      } catch {
        // The process mapped the pixels before they were frozen.
        #expect(error == .decoderDied(reason: "kept the pixels to itself"))
      }
    }
    // With every descriptor it got, the process tries to change the pixels before it takes the next picture.
    #expect(images.allSatisfy { $0.image.colors == $0.colors })
  }

  @Test(arguments: [
    ("ends before it is ready", "ended with status 7"), ("is of another version", "answered rubbish"),
    ("is never ready", "was killed: it took too long"),
  ])
  func whatNeverBecomesReadyIsNoDecoder(_ fault: String, _ reason: String) {
    let decoder = Programs.faulty(fault) { $0.startMilliseconds = fault == "is never ready" ? 100 : 60_000 }
    #expect(error(decoder) == .noDecoder(reason: "\(Programs.path("decoder-faults")) \(reason)"))
  }
}
