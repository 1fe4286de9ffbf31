import Foundation
import PictureFiles
import Testing

@testable import VitrineImages

@Suite(.serialized) struct ProcessDecoderTests {
  private func decoder(_ change: (inout ProcessDecoder.Options) -> Void = { _ in }) -> ProcessDecoder {
    var options = ProcessDecoder.Options()
    options.limits.milliseconds = 60_000
    change(&options)
    return ProcessDecoder(executable: Programs.decoder, options: options)
  }

  private static func files() throws -> [[UInt8]] {
    [
      try ImageEncoder.encode(.gradient(200, 120), as: .jpeg()), JPEGFile.progressive, JPEGFile.adobeCMYK,
      Exif.insert(Exif.block(6), intoJPEG: JPEGFile.gray), try ImageEncoder.encode(.glass(24, 17), as: .png),
      PNGFile(width: 9, height: 9, depth: 16, isInterlaced: true) { x, y in [x, y, x * y, 9] }.bytes,
      try ImageEncoder.encode(.glass(24, 17), as: .webp()),
      try ImageEncoder.encode(.glass(24, 17), as: .losslessWebP), try WebPFile.animation(),
    ]
  }

  @Test func processGivesTheSamePicturesAsTheInProcessDecoder() throws {
    let decoder = decoder()
    for file in try Self.files() {
      for size in [nil, PixelSize(width: 5, height: 5)] {
        let here = try ImageDecoder().decode(file, atLeast: size)
        let there = try decoder.decode(file, atLeast: size)
        #expect(there.info == here.info && there.size == here.size && there.bytesPerRow == here.bytesPerRow)
        #expect(there.colors == here.colors)
      }
    }
  }

  @Test func processGivesTheSameErrorsAsTheInProcessDecoder() throws {
    let jpeg = try ImageEncoder.encode(.gradient(200, 120), as: .jpeg())
    let png = try ImageEncoder.encode(.gradient(200, 120), as: .png)
    var broken = png
    broken[60] ^= 0xFF
    let limits = DecodingLimits(side: 150)
    let inside = ImageDecoder()
    let outside = decoder { $0.processCount = 1 }
    func error(_ decoder: any PictureDecoding, _ file: [UInt8]) -> ImageError? {
      do throws(ImageError) {
        _ = try decoder.decode(file)
        return nil
      } catch {
        return error
      }
    }
    for file in [[], [1, 2, 3], Array("GIF89a".utf8), Array(jpeg.prefix(500)), Array(png.prefix(40)), broken] {
      let expected = try #require(error(inside, file))
      #expect(error(outside, file) == expected)
    }
    let process = outside.processIdentifiers
    #expect(process.count == 1)
    let small = decoder { $0.limits = limits }
    #expect(error(small, jpeg) == error(ImageDecoder(limits: limits), jpeg) && error(small, jpeg) != nil)
    // Errors do not end the process.
    #expect(error(outside, jpeg) == nil && outside.processIdentifiers == process)
  }

  @Test func callerChoosesTheSizeFromTheHeader() throws {
    let file = try ImageEncoder.encode(.gradient(200, 120), as: .jpeg())
    let decoder = decoder { $0.processCount = 1 }
    let image = try decoder.decode(file.span.bytes) { info throws(ImageError) in
      #expect(info.size == PixelSize(width: 200, height: 120) && info.format == .jpeg)
      return PixelSize(width: 50, height: 30)
    }
    #expect(image.size == PixelSize(width: 50, height: 30))
    #expect(throws: ImageError.invalidArgument("no")) {
      try decoder.decode(file.span.bytes) { _ throws(ImageError) in throw .invalidArgument("no") }
    }
    // After the caller's error, the process takes the next picture.
    #expect(try decoder.decode(file).size.width == 200 && decoder.processIdentifiers.count == 1)
  }

  @Test func fourThreadsDecodeAHundredPictures() async throws {
    let decoder = decoder { $0.processCount = 3 }
    let files = try Self.files()
    let expected = try files.map { try ImageDecoder().decode($0).colors }
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<4 {
        group.addTask {
          await withCheckedContinuation { continuation in
            Thread.detachNewThread {
              for number in 0..<25 {
                let index = (thread * 25 + number) % files.count
                let image = try? decoder.decode(files[index])
                #expect(image?.colors == expected[index], "\(thread) \(number)")
              }
              continuation.resume()
            }
          }
        }
      }
    }
    #expect((1...3).contains(decoder.processIdentifiers.count))
  }

  @Test func processKilledDuringADecodeFailsOnePicture() throws {
    let decoder = decoder { $0.processCount = 1 }
    let file = try ImageEncoder.encode(.gradient(200, 120), as: .jpeg())
    for (signal, name) in [(SIGTERM, "Terminated"), (SIGKILL, "Killed"), (SIGABRT, "Aborted")] {
      let error = #expect(throws: ImageError.self) {
        try decoder.decode(file.span.bytes) { _ throws(ImageError) in
          for id in decoder.processIdentifiers { kill(id, signal) }
          return nil
        }
      }
      #expect(error == .decoderDied(reason: "died by signal \(signal) (\(name))"))
      #expect("\(try #require(error))" == "the decoder died by signal \(signal) (\(name))")
      // The next round needs a new process, or its death would count as that of an earlier picture.
      #expect(decoder.processIdentifiers.isEmpty)
    }
    #expect(try decoder.decode(file).size.width == 200)
  }

  @Test func processThatDiedOfAnEarlierPictureFailsNone() throws {
    let decoder = decoder { $0.processCount = 1 }
    let file = try ImageEncoder.encode(.gradient(200, 120), as: .jpeg())
    _ = try decoder.decode(file)
    // The process is killed first while it is idle, then during its second picture.
    let first = decoder.processIdentifiers
    for id in first { kill(id, SIGKILL) }
    #expect(try decoder.decode(file).size.width == 200)
    let second = decoder.processIdentifiers
    var count = 0
    let image = try decoder.decode(file.span.bytes) { _ throws(ImageError) in
      count += 1
      if count == 1 { for id in second { kill(id, SIGKILL) } }
      return nil
    }
    #expect(image.size.width == 200 && count == 2)
    #expect(first.isDisjoint(with: second) && second.isDisjoint(with: decoder.processIdentifiers))
  }

  @Test func processIsReplacedAfterItsNumberOfPictures() throws {
    let decoder = decoder {
      $0.processCount = 1
      $0.picturesPerProcess = 2
    }
    let file = JPEGFile.gray
    var seen: Set<Int32> = []
    for _ in 0..<6 {
      _ = try decoder.decode(file.span.bytes) { _ throws(ImageError) in
        seen.formUnion(decoder.processIdentifiers)
        return nil
      }
    }
    #expect(seen.count == 3 && decoder.processIdentifiers.isEmpty)
  }

  #if os(Linux)
    /// Runs in a process of its own, in which no other code opens files.
    @Test func releasedDecoderLeavesNoProcessesOrDescriptors() async {
      await #expect(processExitsWith: .success) {
        func descriptors() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") }
        func round(_ number: Int) throws -> DecodedImage {
          let decoder = ProcessDecoderTests().decoder { $0.processCount = 1 }
          let image = try decoder.decode(JPEGFile.gray)
          var processes = decoder.processIdentifiers
          if number % 2 == 0 { for id in processes { kill(id, SIGKILL) } }
          #expect(throws: ImageError.self) { try decoder.decode(Array(JPEGFile.gray.prefix(100))) }
          processes.formUnion(decoder.processIdentifiers)
          #expect(processes.count == 1 + (number + 1) % 2)
          _ = consume decoder
          #expect(!processes.contains(where: Programs.isThere))
          return image
        }
        // Descriptors that the first round keeps open are not counted.
        var images = [try round(0)]
        let before = try descriptors()
        for number in 1...20 { images.append(try round(number)) }
        let left = try descriptors().count - before.count
        #expect(before.count > 3 && left == 0, "\(left) descriptors are left")
        // Pixels outlive the process that made them.
        #expect(images.allSatisfy { $0.colors == images[0].colors })
      }
    }
  #endif

  @Test func missingDecoderProgramIsNamedInTheError() throws {
    let missing = ProcessDecoder(executable: "/nowhere/vitrine-decoder")
    #expect(throws: ImageError.noDecoder(reason: "No such file or directory: /nowhere/vitrine-decoder")) {
      try missing.decode(JPEGFile.gray)
    }
    for (program, end) in [("/bin/false", "ended with status 1"), ("/bin/true", "ended with status 0")] {
      #expect(throws: ImageError.noDecoder(reason: "\(program) \(end)")) {
        try ProcessDecoder(executable: program).decode(JPEGFile.gray)
      }
    }
    #expect(throws: ImageError.noDecoder(reason: "Permission denied: /tmp")) {
      try ProcessDecoder(executable: "/tmp").decode(JPEGFile.gray)
    }
  }
}
