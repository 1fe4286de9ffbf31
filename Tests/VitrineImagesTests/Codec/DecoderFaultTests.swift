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
    ("ends", "ended with status 5"), ("closes and goes on", "closed its socket without ending"),
    ("answers noise", "sent an invalid message"), ("answers half a frame", "ended with status 0"),
    ("answers another turn", "answered another request"),
    ("names another format", "sent an invalid header"),
    ("names no format", "sent an invalid header"),
    ("claims no width", "sent an invalid header"),
    ("claims a width below nothing", "sent an invalid header"),
    ("claims the largest width", "sent an invalid header"),
    ("turns the picture nowhere", "sent an invalid header"),
    ("has no bits", "sent an invalid header"),
    ("has colours of its own", "sent an invalid header"),
    ("has flags of its own", "sent an invalid header"),
    ("fails for no reason", "sent an invalid header"),
    ("has drawn before it was asked", "sent an invalid header"),
    ("says the header again", "sent an unexpected answer"),
    ("keeps the pixels mapped", "did not release the memory of the pixels"),
    ("takes too much memory", "ended with status 9"),
  ])
  func misbehaviorOfAProcessIsNamedInTheError(_ fault: String, _ reason: String) throws {
    let decoder = Programs.faulty(fault) {
      $0.limits.byteCount = 64 << 20
      $0.furtherByteCount = 64 << 20
    }
    let error = error(decoder)
    // About once in some thousand runs, the noise begins like a frame.
    if fault == "answers noise", error != .decoderDied(reason: reason) {
      #expect(error == .decoderDied(reason: "answered another request"))
    } else if fault == "takes too much memory", Thoroughness.isSanitized, error != .decoderDied(reason: reason) {
      // Under Address Sanitizer, a failed allocation ends the process before the process can report it.
      #expect(error == .decoderDied(reason: "ended with status 1"))
    } else {
      #expect(error == .decoderDied(reason: reason))
    }
    #expect(decoder.processIdentifiers.isEmpty)
  }

  /// Hostile bytes that control a process reach nothing outside of it.
  @Test(
    .enabled(if: ProcessSandbox.isThere),
    arguments: [
      ("connects", false), ("makes memory of a file", false), ("starts a program", false), ("writes a file", false),
      ("removes a file", false),
      ("signals its owner", false), ("reads a file of its user", !ProcessSandbox.hidesFiles), ("starts a thread", true),
      ("reads a library", true),
    ])
  func sandboxAllowsOnlyTheNeedsOfADecoder(_ act: String, _ isAllowed: Bool) {
    #expect(error(Programs.faulty(act)) == .decoderDied(reason: "ended with status \(isAllowed ? 10 : 9)"))
  }

  @Test(arguments: ["hangs over the header", "hangs over the pixels", "takes too much time"])
  func processBeyondItsTimeLimitIsEnded(_ fault: String) throws {
    let decoder = Programs.faulty(fault) {
      // CPU time is limited in whole seconds, and at least 2 s are allowed.
      $0.limits.milliseconds = fault == "takes too much time" ? 60_000 : 100
      $0.graceMilliseconds = 100
    }
    #expect(error(decoder) == .tookTooLong(milliseconds: fault == "takes too much time" ? 60_000 : 100))
    #expect(decoder.processIdentifiers.isEmpty)
  }

  @Test func claimedSizeAboveTheLimitsIsTooLarge() {
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

  @Test func errorReportedByTheProcessIsPassedOn() {
    guard case .tooLarge(.min, .max, let limit)? = error(Programs.faulty("lies about its own failure")) else {
      Issue.record("not the error that was told")
      return
    }
    #expect(limit.utf8.count <= DecoderFrame.byteCount && limit.allSatisfy { $0 == "é" })
  }

  /// A received picture stays as it is. After a fault, another process decodes the next picture.
  @Test(arguments: ["speaks unasked", "says it twice", "floods", "sends descriptors", "cuts the pixels off", "works"])
  func receivedPictureStaysUnchanged(_ fault: String) throws {
    let decoder = Programs.faulty(fault)
    for _ in 0..<5 {
      if fault == "speaks unasked" {
        #expect(error(decoder) == .decoderDied(reason: "sent an unexpected answer"))
      } else {
        // The process draws nothing, so all bytes are zero.
        #expect(try decoder.decode(JPEGFile.gray).colors.allSatisfy { $0 == RGBA(0, 0, 0, 0) })
      }
    }
  }

  @Test func processCannotChangeItsPixelsLater() throws {
    let decoder = Programs.faulty("changes the pixels later")
    var images: [(image: DecodedImage, colors: [RGBA])] = []
    for _ in 0..<8 {
      do throws(ImageError) {
        let image = try decoder.decode(JPEGFile.gray)
        images.append((image, image.colors))
      } catch {
        // The process mapped the pixels before they were frozen.
        #expect(error == .decoderDied(reason: "did not release the memory of the pixels"))
      }
    }
    // With every descriptor it got, the process tries to change the pixels before it takes the next picture.
    #expect(images.allSatisfy { $0.image.colors == $0.colors })
  }

  @Test(arguments: [
    ("ends before it is ready", "ended with status 7"), ("is of another version", "sent an invalid message"),
    ("is never ready", "was killed: it exceeded the time limit"),
  ])
  func processThatIsNeverReadyIsNoDecoder(_ fault: String, _ reason: String) {
    let decoder = Programs.faulty(fault) { $0.startMilliseconds = fault == "is never ready" ? 100 : 60_000 }
    #expect(error(decoder) == .noDecoder(reason: "\(Programs.path("decoder-faults")) \(reason)"))
  }
}
