#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The preparation of a target before its first input.
package enum Preparation {
  /// Makes the small store, which no input is charged for. If `VITRINE_FUZZ_SEEDS` names a folder, as
  /// `scripts/fuzz-seeds` sets it, writes the target's seeds into it, one file each, and ends the program.
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
