import CVitrine
import Foundation
import Testing
import Vitrine

/// The shared library as programs in C, C++ and Python use it.
///
/// Links the objects of this build with the list of exported names, as `scripts/library` does for an optimized build.
/// Objects built for a sanitizer need its runtime in each program, so these tests are left out there.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["VITRINE_SANITIZED"] == nil))
struct LibraryTests {
  @Test func theLibraryExportsThePinnedNamesAndNoOthers() throws {
    let library = try BuiltLibrary.shared()
    let lines = try Tool.run("nm", ["-D", "--defined-only", library.file.path]).split(separator: "\n")
    let names = lines.compactMap { line -> String? in
      let words = line.split(separator: " ")
      guard let kind = words.dropLast().last, let name = words.last?.split(separator: "@").first else { return nil }
      // `A` is the version of the names; small letters are local symbols.
      return kind == "A" || kind == kind.lowercased() ? nil : String(name)
    }
    #expect(names.sorted() == (try pinnedSymbols()))
  }

  @Test func theHeaderDeclaresThePinnedNames() throws {
    let path = root.appending(path: "Sources/CVitrine/include/vitrine.h")
    var header = try String(contentsOf: path, encoding: .utf8)
    header.replace(/\/\*[\s\S]*?\*\//, with: "")
    let declared = header.matches(of: /VITRINE_API\s[^;(]*?\b(vitrine_\w+)\(/).map { String($0.1) }
    #expect(declared.sorted() == (try pinnedSymbols()))
  }

  @Test func theLinkerListHasThePinnedNames() throws {
    let list = try String(contentsOf: root.appending(path: "scripts/vitrine.map"), encoding: .utf8)
    #expect(list.matches(of: /(?m)^ +(vitrine_\w+);$/).map { String($0.1) } == (try pinnedSymbols()))
    #expect(list.contains("local:\n    *;"))
  }

  @Test(arguments: [["-std=c99"], ["-std=c99", "-O2"], ["-std=c11"]])
  func aProgramInCPassesItsChecks(_ options: [String]) throws {
    let output = try BuiltLibrary.shared().run("promises.c", Tool.c, options)
    #expect(output == "all promises kept\n")
  }

  @Test(arguments: [["-std=c++17"], ["-std=c++20", "-O2"]])
  func aProgramInCPlusPlusPassesItsChecks(_ options: [String]) throws {
    let output = try BuiltLibrary.shared().run("promises.cpp", Tool.cPlusPlus, options)
    #expect(output == "all promises kept\n")
  }

  @Test func threadsInCMayUseAStoreWhileItCloses() throws {
    let output = try BuiltLibrary.shared().run("threads.c", Tool.c, ["-std=gnu99"])
    #expect(output == "all promises kept\n")
  }

  @Test func theExamplesOfTheDocumentRun() throws {
    let library = try BuiltLibrary.shared()
    #expect(try library.run("examples.c", Tool.c, ["-std=c99"]) == "https://example.org/cat.jpg original\n")
    #expect(try library.run("examples.cpp", Tool.cPlusPlus, ["-std=c++17"]).hasPrefix("4 bytes, without a copy\n"))
  }

  @Test func pythonLoadsTheLibrary() throws {
    let library = try BuiltLibrary.shared()
    let folder = library.folder.appending(path: "python-store").path
    let script = root.appending(path: "Tests/VitrineCTests/Programs/load.py").path
    #expect(try Tool.run("python3", [script, library.file.path, folder]) == CacheStore.version + "\n")
  }
}

/// A program of the system.
enum Tool {
  /// A tool ended with an error. The text is its output.
  struct Failed: Error, CustomStringConvertible {
    let description: String
  }

  /// The compilers of the system, or those of the toolchain if there are none.
  static var c: String { path(of: "cc") == nil ? "clang" : "cc" }
  static var cPlusPlus: String { path(of: "g++") == nil ? "clang++" : "g++" }

  static func path(of name: String) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// Runs a program to its end and returns its output. Throws if it fails.
  @discardableResult
  static func run(_ name: String, _ arguments: [String]) throws -> String {
    guard let program = name.contains("/") ? name : path(of: name) else { throw Failed(description: "no \(name)") }
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failed(description: "\(name) \(arguments.joined(separator: " ")) failed: \(text.suffix(4000))")
    }
    return text
  }
}

/// The shared library, linked once for all tests.
final class BuiltLibrary: Sendable {
  let folder: URL
  let file: URL

  private static let result = Result { try BuiltLibrary() }

  static func shared() throws -> BuiltLibrary { try result.get() }

  private init() throws {
    folder = FileManager.default.temporaryDirectory.appending(
      path: "vitrine-library-\(ProcessInfo.processInfo.processIdentifier)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    file = folder.appending(path: "libvitrine.so")
    let tests = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
    // The folders of the targets may also contain objects of files that have moved.
    let list = try String(
      contentsOf: tests.appending(path: "VitrineC.product/Objects.LinkFileList"), encoding: .utf8)
    let objects = list.split(separator: "\n").map { $0.trimmingCharacters(in: ["'", "\""]) }
    let map = root.appending(path: "scripts/vitrine.map").path
    let isCovered = ProcessInfo.processInfo.environment["LLVM_PROFILE_FILE"] != nil
    try Tool.run(
      "swiftc",
      ["-emit-library", "-use-ld=lld", "-o", file.path] + objects + (isCovered ? ["-profile-generate"] : [])
        + ["-Xlinker", "--version-script=\(map)", "-Xlinker", "--no-undefined", "-lzstd"])
    // The folder stays until the process ends, because all tests share it.
    atexit { try? FileManager.default.removeItem(at: BuiltLibrary.result.get().folder) }
  }

  /// Compiles a program of `Programs` without warnings, runs it with a folder for a store, and returns its output.
  func run(_ source: String, _ compiler: String, _ options: [String]) throws -> String {
    let program = folder.appending(path: "\(UUID())")
    let programs = root.appending(path: "Tests/VitrineCTests/Programs")
    let include = root.appending(path: "Sources/CVitrine/include")
    try Tool.run(
      compiler,
      options + [
        "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I\(include.path)", programs.appending(path: source).path,
      ]
        + ["-o", program.path, "-L\(folder.path)", "-Wl,-rpath,\(folder.path)", "-lvitrine", "-lpthread"])
    return try Tool.run(program.path, [program.path + "-store"])
  }
}
