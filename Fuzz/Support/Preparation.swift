#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The preparation of a target before its first input.
package enum Preparation {
  /// Makes the small store, so that its time and memory do not count for the first input. If `scripts/fuzz-seeds` has
  /// set `VITRINE_FUZZ_SEEDS` to a folder, writes each of the target's seeds to a file there, and ends the program.
  package static func run(_ seeds: () throws -> [[UInt8]]) {
    _ = SmallStore.shared
    guard let folder = getenv("VITRINE_FUZZ_SEEDS").map({ String(cString: $0) }) else { return }
    let all = always("the seeds") { try seeds() }
    for (number, bytes) in all.enumerated() {
      let path = "\(folder)/seed-\(number)"
      guard let file = fopen(path, "w") else { refute("cannot write \(path)") }
      let written = fwrite(bytes, 1, bytes.count, file)
      claim(fclose(file) == 0 && written == bytes.count, "cannot write \(path)")
    }
    exit(0)
  }
}
