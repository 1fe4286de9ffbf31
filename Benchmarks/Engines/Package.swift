// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that a program with Vitrine never needs the other engines.
let package = Package(
  name: "VitrineEngineBenchmarks",
  platforms: [.macOS(.v26)],
  products: [.executable(name: "bench-engines", targets: ["bench-engines"])],
  dependencies: [.package(name: "Vitrine", path: "../..", traits: [])],
  targets: [
    .systemLibrary(
      name: "CRocksDB", path: "Libraries/CRocksDB", pkgConfig: "rocksdb",
      providers: [.apt(["librocksdb-dev"]), .brew(["rocksdb"])]),
    // LevelDB comes without a file for pkg-config.
    .systemLibrary(
      name: "CLevelDB", path: "Libraries/CLevelDB", providers: [.apt(["libleveldb-dev"]), .brew(["leveldb"])]),
    .systemLibrary(
      name: "CLMDB", path: "Libraries/CLMDB", pkgConfig: "lmdb",
      providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
    .systemLibrary(
      name: "CSQLiteDatabase", path: "Libraries/CSQLiteDatabase", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    // The bare disk ("raw"), and the few system calls of the measurements that Swift cannot make by itself.
    .target(name: "CBench"),
    .executableTarget(
      name: "bench-engines",
      dependencies: [
        .product(name: "Vitrine", package: "Vitrine"), .product(name: "CacheCtlKit", package: "Vitrine"),
        "CBench", "CRocksDB", "CLevelDB", "CLMDB", "CSQLiteDatabase",
      ]),
  ],
  swiftLanguageModes: [.v6]
)
