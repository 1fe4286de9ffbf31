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
    .library(name: "VitrineFoundation", targets: ["VitrineFoundation"]),
    // The calls of other caches over a store.
    .library(name: "VitrineDataCache", targets: ["VitrineDataCache"]),
    .library(name: "VitrineDiskStorage", targets: ["VitrineDiskStorage"]),
    .library(name: "VitrineJournaledCache", targets: ["VitrineJournaledCache"]),
    .library(name: "VitrineURLCache", targets: ["VitrineURLCache"]),
    .library(name: "VitrineImages", targets: ["VitrineImages"]),
    // The C interface. `make library` builds the form to install, with only the names of vitrine.h in it.
    .library(name: "VitrineC", type: .dynamic, targets: ["VitrineC"]),
    .library(name: "VitrineSimulation", targets: ["VitrineSimulation"]),
    .library(name: "VitrineServer", targets: ["VitrineServer"]),
    .library(name: "VitrineClient", targets: ["VitrineClient"]),
    .executable(name: "cachectl", targets: ["cachectl"]),
    .executable(name: "vitrine-decoder", targets: ["vitrine-decoder"]),
    // For the packages in Benchmarks/ and Fuzz/.
    .library(name: "CacheCtlKit", targets: ["CacheCtlKit"]),
    .library(name: "CacheCtlTool", targets: ["CacheCtlTool", "CacheCtlBase", "CacheCtlKit"]),
    .library(name: "PictureFiles", targets: ["PictureFiles"]),
  ],
  traits: [
    .trait(
      name: "Images",
      description: "VitrineImages and the commands of cachectl for pictures; needs the libraries of Docs/Embedding.md"),
    .trait(
      name: "MoreFormats",
      description: "VitrineImages decodes GIF, AVIF, HEIC, JPEG XL and TIFF; needs the libraries of Docs/Embedding.md",
      enabledTraits: ["Images"]),
    .trait(name: "Server", description: "VitrineServer and 'cachectl serve'; needs libevent"),
    .default(enabledTraits: ["Images", "MoreFormats", "Server"]),
  ],
  targets: [
    .systemLibrary(
      name: "CZstd", pkgConfig: "libzstd",
      providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]),
    .systemLibrary(
      name: "CXXHash", pkgConfig: "libxxhash",
      providers: [.apt(["libxxhash-dev"]), .brew(["xxhash"])]),
    // For the traces that `cachectl replay` reads.
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
    .target(name: "CVitrineSystem", dependencies: ["CXXHash"]),
    .target(
      name: "Vitrine", dependencies: ["CZstd", "CXXHash", "CVitrineSystem"],
      swiftSettings: engineSettings),
    .target(name: "VitrineFoundation", dependencies: ["Vitrine"]),
    .target(
      name: "VitrineDataCache", dependencies: ["Vitrine", "VitrineFoundation"],
      path: "Sources/Adapters/VitrineDataCache"),
    .target(
      name: "VitrineDiskStorage", dependencies: ["Vitrine", "VitrineFoundation"],
      path: "Sources/Adapters/VitrineDiskStorage"),
    .target(
      name: "VitrineJournaledCache", dependencies: ["Vitrine", "VitrineFoundation"],
      path: "Sources/Adapters/VitrineJournaledCache"),
    .target(
      name: "VitrineURLCache", dependencies: ["Vitrine", "VitrineFoundation"],
      path: "Sources/Adapters/VitrineURLCache"),
    // Without the trait, SwiftPM does not look for the libraries, and these targets cannot be built.
    .systemLibrary(name: "CJPEG", pkgConfig: "libjpeg", providers: [.apt(["libjpeg-dev"]), .brew(["jpeg-turbo"])]),
    .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"]), .brew(["libpng"])]),
    .systemLibrary(name: "CWebP", pkgConfig: "libwebp", providers: [.apt(["libwebp-dev"]), .brew(["webp"])]),
    .systemLibrary(name: "CLCMS", pkgConfig: "lcms2", providers: [.apt(["liblcms2-dev"]), .brew(["little-cms2"])]),
    .systemLibrary(name: "CGIF", providers: [.apt(["libgif-dev"]), .brew(["giflib"])]),
    .systemLibrary(name: "CAVIF", providers: [.apt(["libavif-dev"]), .brew(["libavif"])]),
    .systemLibrary(name: "CHEIF", pkgConfig: "libheif", providers: [.apt(["libheif-dev"]), .brew(["libheif"])]),
    .systemLibrary(name: "CJXL", pkgConfig: "libjxl", providers: [.apt(["libjxl-dev"]), .brew(["jpeg-xl"])]),
    .systemLibrary(name: "CTIFF", pkgConfig: "libtiff-4", providers: [.apt(["libtiff-dev"]), .brew(["libtiff"])]),
    // The loader of pictures on Linux. Other systems load by Foundation.
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
    .systemLibrary(
      name: "CBrotli", pkgConfig: "libbrotlidec", providers: [.apt(["libbrotli-dev"]), .brew(["brotli"])]),
    .target(
      name: "CImageCodecs",
      dependencies: ["CJPEG", "CPNG", "CWebP", "CLCMS", "CZlib"]
        .map { .target(name: $0, condition: .when(traits: ["Images"])) }
        + ["CGIF", "CAVIF", "CHEIF", "CJXL", "CTIFF"]
        .map { .target(name: $0, condition: .when(traits: ["MoreFormats"])) },
      cSettings: [.define("VITRINE_MORE_FORMATS", .when(traits: ["MoreFormats"]))],
      // Not every giflib has a file for pkg-config, and libavif's has a flag that SwiftPM refuses.
      linkerSettings: ["gif", "avif"].map { .linkedLibrary($0, .when(traits: ["MoreFormats"])) }),
    // The header of the C interface, whose structs `VitrineC` imports.
    .target(name: "CVitrine"),
    .target(name: "VitrineC", dependencies: ["CVitrine", "Vitrine", "CacheCtlKit"]),
    .target(name: "CDecoderProcess"),
    .target(
      name: "VitrineImages",
      dependencies: ["Vitrine", "CImageCodecs", "CDecoderProcess"]
        + ["CCurl", "CBrotli", "CZlib"].map {
          .target(name: $0, condition: .when(platforms: [.linux], traits: ["Images"]))
        },
      swiftSettings: engineSettings),
    // The program that `ProcessDecoder` starts.
    .executableTarget(name: "vitrine-decoder", dependencies: ["VitrineImages"]),
    // For the event loops of the server.
    .systemLibrary(
      name: "CEvent", pkgConfig: "libevent_core", providers: [.apt(["libevent-dev"]), .brew(["libevent"])]),
    .target(name: "VitrineServer", dependencies: ["Vitrine", "CEvent", "CVitrineSystem"]),
    // Uses a server of this machine, and maps values that it passes.
    .target(name: "VitrineClient", dependencies: ["Vitrine", "CVitrineSystem"], swiftSettings: engineSettings),
    .target(
      name: "VitrineSimulation", dependencies: ["Vitrine", "CZstd"],
      resources: [.embedInCode("Workloads/v1-torn.archive")]),
    .target(name: "CacheCtlKit", dependencies: ["Vitrine"]),
    // The base of all commands of the tool: opening of stores, reading, output, failures.
    .target(name: "CacheCtlBase", dependencies: ["Vitrine", "CacheCtlKit"], path: "Sources/cachectl/Base"),
    // The commands for pictures.
    .target(
      name: "CacheCtlPictures", dependencies: ["Vitrine", "VitrineImages", "CacheCtlKit", "CacheCtlBase"],
      path: "Sources/cachectl/Pictures"),
    // The tool without its `main`, so that tests and fuzzers can link it.
    .target(
      name: "CacheCtlTool",
      dependencies: [
        "Vitrine", "VitrineSimulation", "CacheCtlKit", "CacheCtlBase", "CZstd", "CZlib",
        .target(name: "CacheCtlPictures", condition: .when(traits: ["Images"])),
        .target(name: "VitrineImages", condition: .when(traits: ["Images"])),
        .target(name: "VitrineServer", condition: .when(traits: ["Server"])),
      ],
      path: "Sources/cachectl", exclude: ["Base", "Main", "Pictures"]),
    .executableTarget(name: "cachectl", dependencies: ["CacheCtlTool"], path: "Sources/cachectl/Main"),
    .executableTarget(
      name: "vitrine-demo", dependencies: ["Vitrine", "VitrineImages", "LocalServer"], path: "Sources/Demo"),
    // The program of `make bench-images`.
    .executableTarget(
      name: "bench-images", dependencies: ["Vitrine", "VitrineImages", "VitrineSimulation", "CacheCtlKit"],
      path: "Benchmarks/Images"),
    // Compares a borrow by the C interface with a get in Swift.
    .executableTarget(
      name: "bench-c", dependencies: ["CVitrine", "Vitrine", "VitrineC"], path: "Benchmarks/C"),
    // A web server on this machine, for tests and for the demonstration.
    .target(name: "LocalServer", dependencies: ["VitrineImages"], path: "Tests/LocalServer"),
    // Pictures that the encoders of this package do not write, for tests and for the fuzzer.
    .target(name: "PictureFiles", dependencies: ["Vitrine", "VitrineImages"], path: "Tests/PictureFiles"),
    // Tests that need a process of their own, because they involve a signal or a limit of the whole process.
    .executableTarget(name: "vitrine-faults", dependencies: ["Vitrine"], path: "Tests/FaultProgram"),
    // A program whose system calls are interrupted or do only part of their work. No test depends on it: a test would
    // be linked with it, and the test's own calls would be interrupted, too.
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
      dependencies: [
        "Vitrine", "VitrineImages", "VitrineSimulation", "CacheCtlKit", "CacheCtlBase", "CacheCtlTool", "cachectl",
        "LocalServer", "CZstd", "CZlib", .target(name: "VitrineServer", condition: .when(traits: ["Server"])),
      ]),
    // A decoder that misbehaves on request.
    .executableTarget(
      name: "decoder-faults", dependencies: ["VitrineImages", "CDecoderProcess"], path: "Tests/DecoderFaults"),
    // The system's SQLite, for the example of a storage over a database. Only tests use it.
    .systemLibrary(name: "CSQLite", path: "Tests/CSQLite", providers: [.apt(["libsqlite3-dev"])]),
    .testTarget(
      name: "VitrineImagesTests",
      dependencies: [
        "Vitrine", "VitrineImages", "VitrineSimulation", "LocalServer", "PictureFiles", "FolderRemoval",
        "vitrine-decoder", "decoder-faults", "CSQLite", "CLCMS", "CZlib",
      ]),
    .testTarget(
      name: "VitrineServerTests",
      dependencies: [
        "Vitrine", "VitrineServer", "VitrineClient", "CVitrineSystem", "VitrineImages", "LocalServer", "FolderRemoval",
        "cachectl",
      ]),
    .testTarget(name: "SimulationTests", dependencies: ["Vitrine", "VitrineSimulation"]),
    .testTarget(
      name: "VitrineCTests", dependencies: ["CVitrine", "Vitrine", "VitrineC"], exclude: ["Programs", "Symbols.txt"]),
    .testTarget(name: "FoundationTests", dependencies: ["Vitrine", "VitrineFoundation"]),
    .testTarget(
      name: "AdapterTests",
      dependencies: [
        "Vitrine", "VitrineFoundation", "VitrineDataCache", "VitrineDiskStorage", "VitrineJournaledCache",
        "VitrineURLCache",
      ]),
    .testTarget(
      name: "DocumentationTests", dependencies: ["Vitrine", "VitrineClient", "VitrineImages", "VitrineSimulation"]),
    .executableTarget(
      name: "store-process", dependencies: ["Vitrine", "VitrineClient", "VitrineSimulation", "CacheCtlKit"],
      path: "Tests/StoreProcess"),
    .testTarget(name: "ProcessTests", dependencies: ["Vitrine", "VitrineServer", "FolderRemoval", "store-process"]),
  ],
  swiftLanguageModes: [.v6]
)
