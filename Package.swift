// swift-tools-version: 6.2
import PackageDescription

let engineSettings: [SwiftSetting] = [
  .enableExperimentalFeature("Lifetimes")
]

let package = Package(
  name: "Vitrine",
  platforms: [.macOS(.v26), .iOS(.v26)],
  products: [
    .library(name: "Vitrine", targets: ["Vitrine"]),
    .library(name: "VitrineSimulation", targets: ["VitrineSimulation"]),
    .executable(name: "cachectl", targets: ["cachectl"]),
  ],
  targets: [
    .systemLibrary(
      name: "CZstd", pkgConfig: "libzstd",
      providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]),
    .systemLibrary(
      name: "CXXHash", pkgConfig: "libxxhash",
      providers: [.apt(["libxxhash-dev"]), .brew(["xxhash"])]),
    .target(name: "CVitrineSystem", dependencies: ["CXXHash"]),
    .target(
      name: "Vitrine", dependencies: ["CZstd", "CXXHash", "CVitrineSystem"],
      swiftSettings: engineSettings),
    .target(name: "VitrineSimulation", dependencies: ["Vitrine"]),
    .target(name: "CacheCtlKit", dependencies: ["Vitrine"]),
    .executableTarget(name: "cachectl", dependencies: ["Vitrine", "VitrineSimulation", "CacheCtlKit"]),
    .executableTarget(name: "vitrine-demo", dependencies: ["Vitrine"], path: "Sources/Demo"),
    // What tests run in a process of its own, because a signal or a limit of the whole process is part of it.
    .executableTarget(name: "vitrine-faults", dependencies: ["Vitrine"], path: "Tests/FaultProgram"),
    .testTarget(name: "VitrineTests", dependencies: ["Vitrine", "VitrineSimulation", "vitrine-faults"]),
    .testTarget(name: "CrashTests", dependencies: ["Vitrine", "VitrineSimulation"]),
    .testTarget(name: "CacheCtlTests", dependencies: ["CacheCtlKit", "cachectl"]),
    .testTarget(name: "SimulationTests", dependencies: ["Vitrine", "VitrineSimulation"]),
    .testTarget(name: "DocumentationTests", dependencies: ["Vitrine", "VitrineSimulation"]),
    .executableTarget(
      name: "store-process", dependencies: ["Vitrine", "VitrineSimulation"], path: "Tests/StoreProcess"),
    .testTarget(name: "ProcessTests", dependencies: ["Vitrine", "store-process"]),
  ],
  swiftLanguageModes: [.v6]
)

// Fuzz targets get their `main` from libFuzzer, so an ordinary build cannot link them: `make fuzz` sets this variable.
// Each is a folder of Fuzz/; `scripts/fuzz` reads their names from this line.
let fuzzTargets = ["Arguments", "Checkpoint", "Image", "Metadata", "Operations", "Record", "Store", "WAL"]
if Context.environment["VITRINE_FUZZ"] == "1" {
  // Nothing else that has a `main` of its own; so one `swift build` makes all of them.
  package.targets.removeAll { $0.type == .executable || $0.type == .test }
  package.products.removeAll { $0.name == "cachectl" }
  package.targets.append(
    .target(
      name: "cachectl", dependencies: ["Vitrine", "VitrineSimulation", "CacheCtlKit"], path: "Sources/cachectl",
      exclude: ["main.swift"]))
  // SwiftPM asks for coverage only of the target that it links; the fuzzer is to see its way through what it tests.
  let coverage = SwiftSetting.unsafeFlags([
    "-sanitize=fuzzer,address", "-sanitize-coverage=edge,trace-cmp,inline-8bit-counters,pc-table",
  ])
  let testable = SwiftSetting.unsafeFlags(["-enable-testing"])
  for target in package.targets {
    switch target.name {
    case "Vitrine", "CacheCtlKit", "cachectl":
      target.swiftSettings = (target.swiftSettings ?? []) + [coverage, testable]
    case "VitrineSimulation": target.swiftSettings = [testable]
    default: break
    }
  }
  package.targets.append(
    .target(
      name: "FuzzSupport", dependencies: ["Vitrine", "VitrineSimulation"], path: "Fuzz/Support",
      swiftSettings: [testable]))
  for name in fuzzTargets {
    package.products.append(.executable(name: "Fuzz-\(name)", targets: ["Fuzz-\(name)"]))
    package.targets.append(
      .executableTarget(
        name: "Fuzz-\(name)",
        dependencies: ["Vitrine", "FuzzSupport", "VitrineSimulation"]
          + (name == "Arguments" || name == "Metadata" ? ["CacheCtlKit", "cachectl"] : []),
        path: "Fuzz/\(name)"))
  }
}

// Planted mistakes are looked for by the tool and by two suites: `scripts/mutants` sets this, and what links less is built
// sooner.
if Context.environment["VITRINE_MUTANTS"] == "1" {
  let left = [
    "vitrine-demo", "store-process", "CacheCtlTests", "SimulationTests", "DocumentationTests", "ProcessTests",
  ]
  package.targets.removeAll { left.contains($0.name) }
}
