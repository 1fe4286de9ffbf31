// Sources: what an entry was made from. By default that is the digest of its URL's original, and the invariant is: where
// an original is stored, every entry of its URL that has its source by default has that original's digest. An original
// with another digest therefore takes those entries with it, in its own frame, so that no crash can part them; and a
// put that follows its original is placed again when that has changed before the commit. A hit pays nothing for it.
extension StoreCore {
  /// The source that an entry of this URL gets by default now. A record that so far stands only in the log is restored, which
  /// takes the commit lock.
  func sourceOfOriginal(_ url: UnsafeRawBufferPointer, _ hash: KeyHash) -> Source? {
    let original = Style.original
    let hash = KeyHash(url: hash.bits, styleTag: original.tag)
    return original.bytes.withUnsafeBytes { style in
      guard
        let (slot, pin) = pinRecord(url, style, hash) ?? pinRestored(url, style, hash)
      else { return nil }
      defer { pin.release() }
      return (catalog.record(at: slot.location, checks: false)?.header.digest).map { Source($0) }
    }
  }

  /// Appends the removal of everything that was made from originals which the puts in `changes` replace. Under the
  /// commit lock. Looks at each entry of those URLs once.
  func appendOutdated(_ operations: [PendingOperation], _ changes: inout FrameChanges) {
    var next = 0
    for index in changes.list.indices {
      guard case .put(let put) = changes.list[index] else { continue }
      while operations[next].location != put.location { next += 1 }
      guard Style.isOriginal(operations[next].style, tag: put.hash.styleTag), put.displaced?.content != put.content
      else { continue }
      let source = Source(operations[next].digest)
      forEachStyle(operations[next].url, put.hash) { hash, location, view in
        if let header = view?.header,
          header.source == nil || header.source == source || header.flags.contains(.namedSource)
        {
          return
        }
        changes.remove(hash, location, from: catalog)
      }
    }
  }

  /// Calls `body` with every entry of a URL, also with those whose records cannot be read, which may be another URL's.
  /// Under the commit lock. One pass over the table.
  func forEachStyle(
    _ url: UnsafeRawBufferPointer, _ hash: KeyHash, _ body: (KeyHash, Location, RecordView?) -> Void
  ) {
    var found: [(KeyHash, Location)] = []
    catalog.keys.forEachStyle(hash) { found.append(($1, $0.location)) }
    for (hash, location) in found {
      let view = restoredRecord(at: location)
      if let view, view.header.urlByteCount != url.count || !equalBytes(view.url.baseAddress!, url) { continue }
      body(hash, location, view)
    }
  }

  /// An entry that has its own source was asked for by another: it goes. What cannot be written down now stays.
  func dropOutdated(_ hash: KeyHash, _ location: Location, sequence: UInt64) {
    _ = try? tryToRemove([RecordName(hash: hash, location: location, sequence: sequence)])
  }
}
