import Foundation
import Testing
import Vitrine

@testable import VitrineImages

/// Compares drawn pictures with Pillow's: see `scripts/similarity`.
@Suite struct SimilarityTests {
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// The Python of `scripts/similarity --setup`. No test makes this environment, because that needs a network.
  static let python: String? = {
    let path = root.appending(path: ".build-python/bin/python3").path
    guard FileManager.default.isExecutableFile(atPath: path) else { return nil }
    return (try? run(path, ["-c", "import numpy, PIL"]))?.status == 0 ? path : nil
  }()

  @Test(.enabled(if: python != nil, "no numpy and Pillow: make them with scripts/similarity --setup"))
  func drawnPicturesMatchPillow() throws {
    let python = try #require(SimilarityTests.python)
    let script = SimilarityTests.root.appending(path: "scripts/similarity").path
    let folder = FileManager.default.temporaryDirectory.appending(path: "vitrine-pixels-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let made = try SimilarityTests.run(python, [script, "--make", folder.path])
    try #require(made.status == 0, "\(made.output)")
    try RawPictures(folder: folder).run()
    let compared = try SimilarityTests.run(python, [script, "--compare", folder.path])
    #expect(compared.status == 0, "\(compared.output)")
  }

  /// Draws pictures for `scripts/similarity`. This is not a test.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["VITRINE_PIXELS"] != nil))
  func rawPicturesAreDrawn() throws {
    let path = try #require(ProcessInfo.processInfo.environment["VITRINE_PIXELS"])
    try RawPictures(folder: URL(filePath: path)).run()
  }

  private static func run(_ program: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(filePath: program)
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
  }
}
