// swift-tools-version: 6.2
import PackageDescription

let engineSettings: [SwiftSetting] = [
  .enableExperimentalFeature("Lifetimes")
]

// What a build without the trait goes without.
let images = Target.Dependency.target(name: "VitrineImages", condition: .when(traits: ["Images"]))
let localServer = Target.Dependency.target(name: "LocalServer", condition: .when(traits: ["Images"]))

let package = Package(
  name: "Vitrine",
  platforms: [.macOS(.v26), .iOS(.v26)],
  products: [
    .library(name: "Vitrine", targets: ["Vitrine"]),
    .library(name: "VitrineImages", targets: ["VitrineImages"]),
    .library(name: "VitrineSimulation", targets: ["VitrineSimulation"]),
    .executable(name: "cachectl", targets: ["cachectl"]),
    .executable(name: "vitrine-decoder", targets: ["vitrine-decoder"]),
  ],
  traits: [
    .trait(
      name: "Images",
      description: "VitrineImages and the commands of cachectl for pictures; needs libjpeg, libpng, libwebp"),
    // Mutants of the engine are built sooner without.
    .default(enabledTraits: Context.environment["VITRINE_MUTANTS"] == "1" ? [] : ["Images"]),
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
    // Without the trait, what follows is empty, and needs none of the libraries.
    .systemLibrary(name: "CJPEG", pkgConfig: "libjpeg", providers: [.apt(["libjpeg-dev"]), .brew(["jpeg-turbo"])]),
    .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"]), .brew(["libpng"])]),
    .systemLibrary(name: "CWebP", pkgConfig: "libwebp", providers: [.apt(["libwebp-dev"]), .brew(["webp"])]),
    .target(
      name: "CImageCodecs",
      dependencies: ["CJPEG", "CPNG", "CWebP"].map { .target(name: $0, condition: .when(traits: ["Images"])) },
      cSettings: [.define("VITRINE_IMAGES", .when(traits: ["Images"]))]),
    .target(name: "CDecoderProcess", cSettings: [.define("VITRINE_IMAGES", .when(traits: ["Images"]))]),
    .target(
      name: "VitrineImages", dependencies: ["Vitrine", "CImageCodecs", "CDecoderProcess"],
      swiftSettings: engineSettings),
    // What `ProcessDecoder` starts.
    .executableTarget(name: "vitrine-decoder", dependencies: ["VitrineImages"]),
    .target(
      name: "VitrineSimulation", dependencies: ["Vitrine", "CZstd"],
      resources: [.embedInCode("Workloads/v1-torn.archive")]),
    .target(name: "CacheCtlKit", dependencies: ["Vitrine"]),
    .executableTarget(
      name: "cachectl", dependencies: ["Vitrine", "VitrineSimulation", "CacheCtlKit", images]),
    .executableTarget(name: "vitrine-demo", dependencies: ["Vitrine", images, localServer], path: "Sources/Demo"),
    // What `make bench-images` runs.
    .executableTarget(
      name: "bench-images", dependencies: ["Vitrine", "VitrineImages", "VitrineSimulation", "CacheCtlKit"],
      path: "Benchmarks/Images"),
    // A web server on this machine, for tests and for the demonstration.
    .target(name: "LocalServer", dependencies: ["VitrineImages"], path: "Tests/LocalServer"),
    // Pictures as no encoder here writes them, for tests and for the fuzzer.
    .target(name: "PictureFiles", dependencies: ["Vitrine", "VitrineImages"], path: "Tests/PictureFiles"),
    // What tests run in a process of its own, because a signal or a limit of the whole process is part of it.
    .executableTarget(name: "vitrine-faults", dependencies: ["Vitrine"], path: "Tests/FaultProgram"),
    // A program whose system calls are interrupted and do half. No test depends on it, since tests are linked with what they
    // depend on, and would make such calls too.
    .target(name: "InterruptedCalls", path: "Tests/InterruptedCalls"),
    .executableTarget(
      name: "vitrine-interrupted", dependencies: ["Vitrine", "VitrineSimulation", "InterruptedCalls"],
      path: "Tests/InterruptedProgram"),
    .target(name: "FolderRemoval", path: "Tests/FolderRemoval"),
    .testTarget(
      name: "VitrineTests", dependencies: ["Vitrine", "VitrineSimulation", "FolderRemoval", "vitrine-faults"]),
    .testTarget(name: "CrashTests", dependencies: ["Vitrine", "VitrineSimulation"]),
    .testTarget(
      name: "CacheCtlTests",
      dependencies: ["Vitrine", "VitrineSimulation", "CacheCtlKit", "cachectl", images, localServer]),
    // A decoder that does what decoders should not.
    .executableTarget(
      name: "decoder-faults", dependencies: ["VitrineImages", "CDecoderProcess"], path: "Tests/DecoderFaults"),
    // For the example of a storage over a database: the system's, and the tests' alone.
    .systemLibrary(name: "CSQLite", path: "Tests/CSQLite", providers: [.apt(["libsqlite3-dev"])]),
    .testTarget(
      name: "VitrineImagesTests",
      dependencies: [
        "Vitrine", "VitrineImages", "VitrineSimulation", "LocalServer", "PictureFiles", "FolderRemoval",
        "vitrine-decoder", "decoder-faults",
        .target(name: "CSQLite", condition: .when(traits: ["Images"])),
      ]),
    .testTarget(name: "SimulationTests", dependencies: ["Vitrine", "VitrineSimulation"]),
    .testTarget(name: "DocumentationTests", dependencies: ["Vitrine", "VitrineSimulation", images]),
    .executableTarget(
      name: "store-process", dependencies: ["Vitrine", "VitrineSimulation"], path: "Tests/StoreProcess"),
    .testTarget(name: "ProcessTests", dependencies: ["Vitrine", "FolderRemoval", "store-process"]),
  ],
  swiftLanguageModes: [.v6]
)

// Fuzz targets get their `main` from libFuzzer, so an ordinary build cannot link them: `make fuzz` sets this variable.
// Each is a folder of Fuzz/; `scripts/fuzz` reads their names from this line.
let fuzzTargets = ["Arguments", "Checkpoint", "Image", "Metadata", "Operations", "Picture", "Record", "Store", "WAL"]
if Context.environment["VITRINE_FUZZ"] == "1" {
  // Nothing else that has a `main` of its own; so one `swift build` makes all of them.
  package.targets.removeAll { $0.type == .executable || $0.type == .test }
  package.products.removeAll { ["cachectl", "vitrine-decoder"].contains($0.name) }
  package.targets.append(
    .target(
      name: "cachectl", dependencies: ["Vitrine", "VitrineSimulation", "CacheCtlKit", images],
      path: "Sources/cachectl", exclude: ["main.swift"]))
  // SwiftPM asks for coverage only of the target that it links; the fuzzer is to see its way through what it tests.
  let coverage = SwiftSetting.unsafeFlags([
    "-sanitize=fuzzer,address", "-sanitize-coverage=edge,trace-cmp,inline-8bit-counters,pc-table",
  ])
  let testable = SwiftSetting.unsafeFlags(["-enable-testing"])
  for target in package.targets {
    switch target.name {
    case "Vitrine", "VitrineImages", "CacheCtlKit", "cachectl":
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
          + (name == "Arguments" || name == "Metadata" ? ["CacheCtlKit", "cachectl"] : [])
          + (name == "Picture" ? ["VitrineImages", "PictureFiles"] : []),
        path: "Fuzz/\(name)"))
  }
}

// Planted mistakes are looked for by the tool and by two suites: `scripts/mutants` sets this, and what links less is built
// sooner.
if Context.environment["VITRINE_MUTANTS"] == "1" {
  let left = [
    "vitrine-demo", "bench-images", "store-process", "CacheCtlTests", "SimulationTests", "DocumentationTests",
    "ProcessTests", "VitrineImagesTests", "vitrine-decoder", "decoder-faults", "CSQLite", "LocalServer", "PictureFiles",
  ]
  package.products.removeAll { left.contains($0.name) }
  package.targets.removeAll { left.contains($0.name) }
}
