import FuzzSupport

@testable import Vitrine
@testable import VitrineSimulation

/// The claims about a store with arbitrary files. It opens or throws an error, returns right bytes or none, accepts
/// changes, and has the same content when it is opened again.
struct ImageClaims {
  private let image: StoreImage
  private let mode: UInt8

  init(image: StoreImage, mode: UInt8) {
    self.image = image
    self.mode = mode
  }

  private var world: SimulatedWorld { image.world }
  private var keys: [CacheKey] { SmallStore.shared.keys }
  private var claims: StoreClaims {
    let isBelieved = image.mayBeForged || image.mayHaveBadRecords && verification == .never
    return StoreClaims(world, values: isBelieved ? nil : StoreClaims.changed(SmallStore.shared.values))
  }
  private var verification: Verification { [.firstRead, .always, .never, .firstRead][Int(mode >> 1 & 3)] }

  private func options(isReadOnly: Bool) -> StoreOptions {
    StoreOptions(
      verification: verification, reads: mode & 8 == 0 ? .mapped : .copied, isReadOnly: isReadOnly,
      whenUnusable: mode & 16 == 0 ? .fail : .recreate)
  }

  private func open(isReadOnly: Bool) -> CacheStore? {
    let options = options(isReadOnly: isReadOnly)
    return image.mustOpen ? claims.openAnyhow(options) : claims.open(options)
  }

  func check() {
    let before = world.disk.operationCount
    let reader = open(isReadOnly: true)
    if let reader { claims.read(reader, keys) }
    claims.dump()
    claim(world.disk.operationCount == before, "a reader changed the disk")
    if mode & 32 != 0 { repair() }
    if let store = open(isReadOnly: false) {
      claims.read(store, keys)
      claims.change(store, keys)
      claims.read(store, keys)
      if let reader {
        _ = try? reader.refresh()
        claims.read(reader, keys)
      }
      checkAgain(store)
    }
    try? reader?.close()
    claim(world.disk.misuse.isEmpty, world.disk.misuse.first ?? "")
  }

  private func repair() {
    guard let report = try? CacheStore.repair(at: SmallStore.path, environment: world.environment) else { return }
    claim(report.entryCount <= report.recordCount, "more entries than records")
  }

  /// Contract 1: closed and opened again it has the same entries.
  private func checkAgain(_ store: CacheStore) {
    let hasFailed = (try? store.requireWell()) == nil
    let found = Inspection.contents(store, Set(keys))
    guard (try? store.close()) != nil, !hasFailed else { return }
    guard let again = claims.open(options(isReadOnly: false)) else {
      refute("a store that was open and closed does not open again")
    }
    claims.read(again, keys)
    if !image.mayBeForged, mode & 1 == 0 {
      claim(Inspection.contents(again, Set(keys)) == found, "a second opening finds something else")
      claim(again.statistics().lastOpen.kind == .clean, "a clean close is not recognized")
    }
    try? again.close()
  }
}
