import CBench

/// A situation in which engines are measured.
protocol Workload: Sendable {
  /// For programs.
  var name: String { get }
  /// One line for people, with the counts.
  var note: String { get }
  func takes(_ kind: EngineKind) -> Bool
  /// One repetition with one engine, in an empty folder that the caller removes in the end.
  func run(_ trial: Trial) throws -> [Sample]
}

extension Workload {
  func takes(_ kind: EngineKind) -> Bool { true }
}

/// The surroundings of one repetition with one engine.
struct Trial: Sendable {
  static let largestWarmByteCount = 4 << 30

  let kind: EngineKind
  let folder: String
  let counter: WriteCounter
  /// Seconds that each measurement of gets takes.
  let seconds: Double
  /// The number of the repetition, from 0.
  let repetition: Int

  /// Removes a store that was measured.
  func remove(_ folder: String) throws {
    if !kind.isRemovedLate { try Folder.remove(folder) }
  }

  /// An empty folder for one store. Before, the writes of earlier stores have ended, and enough memory for the store
  /// was touched, so that no engine pays for either.
  func makeFolder(_ name: String, payloadByteCount: Int) throws -> String {
    let path = folder + "/" + name
    try Folder.make(path)
    let error = bench_sync_file_system(path)
    guard error == 0 else { throw Failure.system("sync", error) }
    bench_warm_memory(min(Trial.largestWarmByteCount, 2 * payloadByteCount + (64 << 20)))
    return path
  }
}
