import FuzzSupport

@testable import Vitrine
@testable import VitrineSimulation

/// A record of a closed store with changed bytes in its head, in a store that vouches for it. After the mode a byte
/// names the record, and each change is an offset in the head and a number of eight bytes there.
enum StoredHead {
  private static let moment = 4

  private struct Place {
    let path: String
    let offset: Int
    let byteCount: Int
    let segment: UInt64
  }

  private static let places: [Place] = {
    var places: [Place] = []
    let store = SmallStore.shared.identity.store
    for (path, bytes) in SmallStore.shared.moments[moment].files {
      guard let id = SegmentHeader.segment(ofFile: String(path.split(separator: "/").last ?? "")) else { continue }
      let scanner = SegmentScanner(file: MemoryFile(bytes), store: store, segment: id)
      _ = scanner.records(byteCount: bytes.count) { record in
        places.append(
          Place(path: path, offset: record.offset, byteCount: record.header.payloadOffset, segment: id))
      }
    }
    claim(!places.isEmpty, "the small store has no records")
    return places
  }()

  static func check(_ input: inout FuzzInput, seals: Bool) {
    let world = SmallStore.shared.world(moment)
    let place = places[input.number(below: places.count)]
    let mode = input.byte()
    world.disk.damage(SmallStore.inStore(place.path)) { bytes in
      while !input.isAtEnd {
        let offset = place.offset + input.number(below: place.byteCount)
        if input.flag() {
          Seal.put(input.hostile(), &bytes, at: offset)
        } else if offset < bytes.count {
          bytes[offset] = input.byte()
        }
      }
      if seals { Seal.record(&bytes, at: place.offset, store: SmallStore.shared.identity.store, id: place.segment) }
    }
    let verification: [Verification] = [.firstRead, .always, .never, .never]
    let options = StoreOptions(
      maximumAgeMilliseconds: mode & 8 == 0 ? nil : 1 << 40, maximumIdleMilliseconds: mode & 16 == 0 ? nil : 1 << 41,
      verification: verification[Int(mode & 3)], reads: mode & 4 == 0 ? .mapped : .copied)
    // Unvouched records are checked; those that a checkpoint vouches for, and `never` accepts, may have any
    // content.
    let isBelieved = seals || mode & 2 == 2
    let claims = StoreClaims(world, values: isBelieved ? nil : StoreClaims.changed(SmallStore.shared.values))
    guard let store = claims.open(options) else { refute("a store with a bad record does not open") }
    world.clock.advance(milliseconds: 1500)
    claims.read(store, SmallStore.shared.keys)
    claims.change(store, SmallStore.shared.keys)
    world.clock.advance(milliseconds: 120_000)
    world.background.runAll(times: 2)
    claims.read(store, SmallStore.shared.keys)
    try? store.close()
  }
}
