// swift-tools-version: 6.2
import PackageDescription

// The fuzzers are a package of their own: libFuzzer has their `main`, so an ordinary build cannot link them.
// `scripts/fuzz` gives the flags that they need, and reads their names from this list. Each target is a folder here.
let fuzzTargets = [
  "Answer", "Arguments", "Checkpoint", "Image", "Metadata", "Operations", "Picture", "Record", "Request", "Store",
  "WAL",
]

func vitrine(_ product: String) -> Target.Dependency { .product(name: product, package: "Vitrine") }

/// Products that a target tests, in addition to the engine.
let tested = [
  "Answer": ["VitrineImages"], "Arguments": ["CacheCtlTool"], "Metadata": ["CacheCtlTool"],
  "Picture": ["VitrineImages", "PictureFiles"], "Request": ["VitrineServer"],
]

let package = Package(
  name: "VitrineFuzz",
  platforms: [.macOS(.v26)],
  products: fuzzTargets.map { .executable(name: "Fuzz-\($0)", targets: ["Fuzz-\($0)"]) },
  dependencies: [.package(name: "Vitrine", path: "..")],
  targets: [
    .target(name: "FuzzSupport", dependencies: [vitrine("Vitrine"), vitrine("VitrineSimulation")], path: "Support")
  ]
    + fuzzTargets.map { name in
      .executableTarget(
        name: "Fuzz-\(name)",
        dependencies: ["FuzzSupport", vitrine("Vitrine"), vitrine("VitrineSimulation")]
          + (tested[name] ?? []).map(vitrine),
        path: name)
    },
  swiftLanguageModes: [.v6]
)
