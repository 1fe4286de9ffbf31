import FuzzSupport

@testable import Vitrine
@testable import VitrineSimulation

/// The claims about a store with arbitrary logs: recovery reads them, a rebuild scans them, and a reader follows them.
/// No key returns a foreign value, since each value in the log is checked by its record.
enum LogClaims {
  /// An unclosed store: its checkpoint is older than its log.
  private static let moment = 1

  static func check(_ input: inout FuzzInput, seals: Bool, keepsOthers: Bool, opens: Bool) {
    let world = SmallStore.shared.world(moment)
    for index in 0..<CacheFormat.walFileCount {
      let path = SmallStore.inStore("\(CacheFormat.walFolder)/\(WALFileHeader.fileName(index))")
      if input.isAtEnd {
        if !keepsOthers { world.disk.remove(path) }
        continue
      }
      var bytes = WALSeeds.expanded(input.block())
      if seals { Seal.log(&bytes) }
      world.disk.setContents(path, bytes)
      checkSeals(bytes)
    }
    AddressSpace.limited { load(world) }
    if opens { use(world) }
  }

  private static func use(_ world: SimulatedWorld) {
    let claims = StoreClaims(world, values: StoreClaims.changed(SmallStore.shared.values))
    claims.dump()
    let reader = claims.openAnyhow(StoreOptions(verification: .never, isReadOnly: true))
    if let reader { claims.read(reader, SmallStore.shared.keys) }
    guard let store = claims.openAnyhow(StoreOptions()) else { return }
    claims.read(store, SmallStore.shared.keys)
    claims.change(store, SmallStore.shared.keys)
    if let reader {
      _ = try? reader.refresh()
      claims.read(reader, SmallStore.shared.keys)
    }
    try? store.close()
    if let again = claims.openAnyhow(StoreOptions()) { claims.read(again, SmallStore.shared.keys) }
  }

  private static func checkSeals(_ bytes: [UInt8]) {
    guard let header = bytes.withUnsafeBytes({ WALFileHeader($0) }) else { return }
    let window = LogWindow(MemoryFile(bytes), byteCount: bytes.count)
    window.forEachFrame(from: WALFileHeader.frameStart, seed: header.seed) { frame, _, offset in
      var sealed = bytes
      claim(Seal.frame(&sealed, at: offset, seed: header.seed) == frame.byteCount, "a frame of another length")
      claim(sealed == bytes, "a frame with a wrong checksum is taken")
    }
  }

  /// Runs the readers alone.
  private static func load(_ world: SimulatedWorld) {
    let folders = always("the folders") {
      try StoreFolders(root: world.disk.openDirectory(SmallStore.path, create: false), create: false)
    }
    let loader = Loader(folders: folders, isReadOnly: true, mapsSegments: false)
    let identity = SmallStore.shared.identity
    for rebuilding in [false, true] {
      guard let loaded = try? loader.load(identity: identity, rebuilding: rebuilding) else { continue }
      FrameClaims.claimCounts(loaded.index.writer)
      for (_, record) in loaded.inline {
        claim(record.range.upperBound <= (try? record.file.status().byteCount) ?? 0, "a record past its file")
      }
    }
    guard let header = (try? loader.newestCheckpoint()) ?? nil else { return }
    var tail = LogTail(end: header.position)
    var count = 0
    _ = try? tail.follow {
      try WALScan.open(folders.wal, store: identity.store, access: .readOnly)
    } _: { changes in
      count += changes.count
      return true
    }
    claim(tail.end.sequence >= header.position.sequence || count == 0, "the log went backwards")
  }
}
