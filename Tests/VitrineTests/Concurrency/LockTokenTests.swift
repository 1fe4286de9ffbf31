import Foundation
import Testing

/// The compiler rejects code that reaches guarded state without its lock. Each snippet is compiled with the sources of
/// the locks alone.
@Suite struct LockTokenTests {
  private static let setup = """
    enum Level: LockLevel { static var rank: UInt { 0 } }
    typealias Lock = LevelLock<Level, [Int]>
    let lock = Lock([])
    protocol Clock { func wait(on monitor: Monitor, milliseconds: Int) }
    let monitored = Monitored([1])
    let shards = LockedShards(2) { _ in 1 }

    """

  /// Returns the errors of the compiler, or nil if it accepts the code.
  private func errors(of code: String) throws -> String? {
    let folder = try TemporaryFolder()
    let engine = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources/Vitrine")
    let file = folder.path + "/snippet.swift"
    try Files.write(Array((Self.setup + code).utf8), to: file)
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments =
      [
        "swiftc", "-emit-sil", "-wmo", "-o", "/dev/null", "-swift-version", "6", "-parse-as-library", "-package-name",
        "vitrine", file,
      ]
      + ["Platform/Lock.swift", "Platform/LevelLock.swift", "Platform/Monitored.swift", "Index/LockedShards.swift"]
      .map { engine.appending(path: $0).path }
    let output = Pipe()
    process.standardError = output
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return process.terminationStatus == 0 ? nil : text
  }

  @Test func codeWithTheTokenCompiles() throws {
    let code = """
      func add(_ number: Int, _ held: borrowing Lock.Held) { held.state.append(number) }
      func run() { lock.withLock { held in add(1, held) } }
      func wait() { monitored.withLock { held in held.unlocked { run() } } }
      func count(_ shard: borrowing LockedShards<Int>.Held) { shard.pointee += 1 }
      func countAll() { shards.withLock(1) { shard in count(shard) } }
      """
    #expect(try errors(of: code) == nil)
  }

  @Test(arguments: [
    // Without a token there is no way to the state.
    ("func run() { lock.state.pointee.append(1) }", "'state' is inaccessible"),
    ("func add(_ held: borrowing Lock.Held) {}\nfunc run() { add() }", "missing argument"),
    // No other file makes a token.
    (
      "func run() { _ = Lock.Held(pointer: .allocate(capacity: 1)) }",
      "initializer is inaccessible due to 'fileprivate' protection level"
    ),
    // A borrowed token cannot be kept, returned or copied.
    (
      "final class Keeper { var held: Lock.Held?\n  func keep(_ token: borrowing Lock.Held) { held = token } }",
      "is consuming"
    ),
    ("func run() -> Lock.Held { lock.withLock { held in held } }", "conform to 'Copyable'"),
    (
      "func run() { lock.withLock { held in let copy = held; let other = held; _ = copy; _ = other } }",
      "'held' is borrowed and cannot be consumed"
    ),
    // The token of one level is none of another one.
    (
      """
      enum Other: LockLevel { static var rank: UInt { 1 } }
      func add(_ held: borrowing LevelLock<Other, [Int]>.Held) {}
      func run() { lock.withLock { held in add(held) } }
      """,
      "cannot convert"
    ),
    // While the lock of a monitor is released, its token leads to nothing.
    ("func run() { monitored.withLock { held in held.unlocked { held.value.append(1) } } }", "overlapping accesses"),
    ("func run() { monitored.withLock { held in held.monitor.unlock() } }", "'monitor' is inaccessible"),
    (
      "func run() { monitored.withLock { held in held.value.removeAll { _ in held.wait(); return true } } }",
      "overlapping accesses"
    ),
    // The tokens of shards.
    ("func run() { _ = shards.cells }", "'cells' is inaccessible"),
    ("func run() { _ = LockedShards<Int>.Held(shard: .allocate(capacity: 1)) }", "initializer is inaccessible"),
    ("func run() -> LockedShards<Int>.Held { shards.withLock(0) { shard in shard } }", "conform to 'Copyable'"),
  ])
  func codeWithoutTheLockDoesNotCompile(_ code: String, _ reason: String) throws {
    let errors = try errors(of: code)?.split(separator: "\n").filter {
      $0.contains("error:") && $0.contains("snippet.swift:")
    }
    #expect(errors?.contains { $0.contains(reason) } == true, "the compiler says: \(errors ?? [])")
  }
}
