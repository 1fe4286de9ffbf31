import Vitrine

/// The unexpired entries of a store as a sequence, in no order.
///
/// Each iterator is a snapshot: it reads all entries when it is made, and later changes of the store do not change it.
/// Making one costs O(entries) and reads no payload. It needs memory for all entries: about 300 bytes for each, plus
/// its URL and its metadata. For a store of millions of entries, `CacheStore.forEachEntry(prefix:style:_:)` needs
/// memory for one entry at a time, and for the index of about a 64th of the entries. Thread-safe.
public struct StoreEntries: Swift.Sequence, Sendable {
  let store: CacheStore
  let prefix: String
  let style: Style?

  /// Reads the entries of the store. O(entries).
  public func makeIterator() -> IndexingIterator<[EntryInfo]> {
    var entries: [EntryInfo] = []
    store.forEachEntry(prefix: prefix, style: style) { entry in
      entries.append(entry)
      return true
    }
    return entries.makeIterator()
  }
}

extension CacheStore {
  /// Returns the unexpired entries whose URL begins with `prefix`, of one style or of all. O(1); each loop over the
  /// result reads the entries anew.
  public func entries(prefix: String = "", style: Style? = nil) -> StoreEntries {
    StoreEntries(store: self, prefix: prefix, style: style)
  }
}
