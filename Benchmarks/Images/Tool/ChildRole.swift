import Foundation

/// The roles of this program in a separate process that it starts. The words after the role are its arguments.
enum ChildRole: String {
  /// Answers HTTP until it is killed.
  case serve
  /// Shows pictures from a store that an earlier process filled.
  case pass
  /// Holds a screenful and reports its memory.
  case hold

  init?(argument word: String) {
    guard word.hasPrefix("child-") else { return nil }
    self.init(rawValue: String(word.dropFirst(6)))
  }

  var word: String { "child-\(rawValue)" }

  func run(_ words: [String]) async throws {
    switch self {
    case .serve: try PictureServer.serve(words)
    case .pass: try await PassesScene.runPass(words)
    case .hold: try await ScreenfulMemory.hold(words)
    }
  }

  /// Starts this program in the role. The caller ends it, or waits for its end.
  func start(_ words: [String], output: FileHandle? = nil, errors: FileHandle? = nil) throws -> Process {
    guard let program = Bundle.main.executableURL else { throw BenchError("cannot tell where this program lies") }
    let process = Process()
    process.executableURL = program
    process.arguments = [word] + words
    process.standardInput = FileHandle.nullDevice
    if let output { process.standardOutput = output }
    if let errors { process.standardError = errors }
    try process.run()
    return process
  }

  /// Starts this program in the role, waits for its end, and reads the JSON that it printed.
  func result<T: Decodable>(_ type: T.Type, _ words: [String]) throws -> T {
    let pipe = Pipe()
    let process = try start(words, output: pipe.fileHandleForWriting)
    try pipe.fileHandleForWriting.close()
    let text = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw BenchError("'\(word)' failed") }
    return try JSONDecoder().decode(type, from: text)
  }

  static func report(_ value: some Encodable) throws {
    print(String(decoding: try JSONEncoder().encode(value), as: UTF8.self))
  }
}

/// An error that ends a scene, in words for people.
struct BenchError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
