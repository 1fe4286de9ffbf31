import Testing

@testable import Vitrine

/// Opens a damaged image, for reading and for writing, and checks everything in it.
struct DamagedOpening {
  let image: MemoryDisk.Image
  /// A description of the damage, for messages.
  let damage: String

  func check(_ verification: Verification) {
    open(StoreOptions(verification: verification, isReadOnly: true))
    open(StoreOptions(verification: verification == .always ? .firstRead : .always))
  }

  private func open(_ options: StoreOptions) {
    let disk = MemoryDisk(image)
    do {
      let store = try TestWorld(fileSystem: disk, seed: 7).open("store", options)
      look(at: store)
      if !options.isReadOnly { try change(store) }
      try store.close()
    } catch is StoreError {
      return
    } catch {
      Issue.record("\(damage): \(error) is no error of the store's")
    }
  }

  private func look(at store: CacheStore) {
    for (key, value) in SmallStore.values {
      if let got = store.bytes(key), got != value {
        Issue.record("\(damage): wrong bytes for \(key.urlText)")
      }
      if case .found(let info) = store.lookup(key), info.key != key || info.byteCount != value.count {
        Issue.record("\(damage): a wrong entry for \(key.urlText)")
      }
    }
    store.forEachEntry { info in
      if SmallStore.values[info.key] == nil, info.key != CacheKey("removed") {
        Issue.record("\(damage): a key that was never put: \(info.key.urlText)")
      }
      return true
    }
    _ = try? store.verify()
    _ = store.statistics()
  }

  /// Expects that an opened store takes changes, and returns them.
  private func change(_ store: CacheStore) throws {
    do {
      try store.put(text(400, 5), for: "new")
    } catch StoreError.noSpace {
      return
    }
    if store["new"] != text(400, 5) { Issue.record("\(damage): a new entry reads wrong") }
    try store.remove("new")
  }
}
