import Vitrine

// The examples of Docs/Embedding.md, word for word, so that they compile as long as the library does.
// `DocumentationTests` compares the two; the functions around them are never called.

private func opening(folder: String) throws {
  let store = try CacheStore.open(
    at: folder,
    options: StoreOptions(
      byteBudget: 512 << 20,  // the whole folder never takes more
      durability: .buffered,
      waitForLockMilliseconds: 2000))

  try store.close()
}

private func putting(store: CacheStore, jpeg: [UInt8], url: String, now: Int64) throws {
  try store.put(
    jpeg, for: url,
    options: PutOptions(
      metadata: Array("image/jpeg".utf8),
      expirationMilliseconds: now + 86_400_000,
      durability: .synced))
}

private func getting(store: CacheStore, url: String) {
  let byteCount = store.get(url) { bytes in
    bytes.byteCount  // `bytes` is a RawSpan, valid until this closure returns
  }
  if byteCount == nil {
    switch store.lookup(url) {
    case .found: break  // put by another thread a moment ago
    case .missing: print("never put, or removed")
    case .expired: print("expired: fetch it again")
    case .outdated: print("made from another source than the named one")
    case .damaged: print("failed its check and was dropped: fetch it again")
    case .closed: print("the store was closed")
    }
  }
}

private func gettingMany(store: CacheStore, urls: [String], square: Style, show: (Int, RawSpan) -> Void) {
  let keys = urls.map { CacheKey($0, square) }
  store.getMany(keys) { index, bytes in
    if let bytes { show(index, bytes) }
  }
}

private func retained(store: CacheStore, url: String, keep: (Blob) -> Void) throws {
  if let picture = store.blob(url) {
    keep(picture)  // a Blob: `picture.bytes` is valid for as long as the Blob lives
  }
  try CacheStore.installBusErrorGuard()
}

private func recreating(folder: String) throws {
  let store = try CacheStore.open(at: folder, options: StoreOptions(recreatesIfRemoved: true))
  try store.close()
}

private func following(folder: String, url: String, draw: (RawSpan) -> Void) throws {
  let reader = try CacheStore.open(at: folder, options: StoreOptions(isReadOnly: true))
  if try reader.refresh() {
    // The writer's changes since the last refresh are visible now, in their order.
    reader.get(url) { bytes in draw(bytes) }
  }
}

private func bitmaps(
  store: CacheStore, url: String, pixels: [UInt8], upload: (RawSpan, BitmapLayout) -> Void
) throws {
  let style = Style("rectangle-320x240")!
  let layout = BitmapLayout(width: 320, height: 240, bytesPerRow: 1280, format: .bgra8888)!
  try store.put(pixels, for: url, style: style, options: PutOptions(layout: layout, isPageAligned: true))

  if case .found(let entry) = store.lookup(url, style: style), let layout = entry.layout {
    store.get(url, style: style) { bytes in upload(bytes, layout) }
  }
}

private func drawing(
  store: CacheStore, url: String, style: Style, render: (inout MutableRawSpan, BitmapLayout) -> Void
) throws {
  try store.draw(CacheKey(url, style), width: 320, height: 240, format: .bgra8888) { memory, layout in
    render(&memory, layout)
  }
}

private func inPieces(store: CacheStore, url: String, contentLength: Int?, pieces: [[UInt8]]) throws {
  let writer = try store.writer(for: url, length: contentLength)  // nil when it is not known
  for piece in pieces { try writer.write(piece) }
  try writer.commit()
}

private func sources(
  store: CacheStore, url: String, square: Style, jpeg: [UInt8], newJPEG: [UInt8], thumbnail: [UInt8]
) throws {
  try store.put(jpeg, for: url)
  try store.put(thumbnail, for: url, style: square)  // made from that original
  try store.put(newJPEG, for: url)  // other bytes: the thumbnail is a miss from here on
}

private func namedSources(store: CacheStore, url: String, square: Style, thumbnail: [UInt8]) throws {
  let recipe = Source(Array("crop-7".utf8))!  // nil unless it has 1 to 16 bytes
  try store.put(thumbnail, for: url, style: square, options: PutOptions(source: .named(recipe)))

  let byteCount = store.get(url, style: square, source: recipe) { bytes in bytes.byteCount }
  if byteCount == nil { print("made from something else, or not there") }
}

private func named() throws {
  let store = try CacheStore.open(named: "com.example.pictures")

  try store.close()
}

private func conditions(store: CacheStore, url: String, jpeg: [UInt8], known: Digest) throws {
  let isFirst = try store.put(jpeg, for: CacheKey(url), if: .absent)
  let isNewer = try store.put(jpeg, for: CacheKey(url), if: .digest(known))

  print(isFirst, isNewer)
}

private func files(
  store: CacheStore, url: String, draw: (RawSpan) -> Void, send: (Int32, Int, Int) -> Void
) throws {
  store.peek(CacheKey(url)) { bytes in draw(bytes) }
  let head = store.bytes(CacheKey(url), range: 0..<1024)
  store.withFileRange(CacheKey(url)) { range in send(range.descriptor, range.offset, range.byteCount) }
  try store.copy(CacheKey(url), to: "/tmp/picture.jpg")

  print(head?.count ?? 0)
}

private func events(store: CacheStore) async throws {
  let events = store.events()
  let task = Task {
    for await event in events { print("\(event.level): \(event)") }
  }

  try store.close()
  await task.value
}

private func suspension(store: CacheStore) throws {
  try store.suspend()
  // The program may be frozen here. Gets are misses, and changes throw `closed`.
  try store.resume()
}

private func batches(store: CacheStore, old: String, new: String, jpeg: [UInt8]) throws {
  var batch = WriteBatch()
  batch.remove(CacheKey(old))
  batch.put(jpeg, for: CacheKey(new))
  try store.write(batch, durability: .synced)  // both or neither, after any crash
}

private func metadata(store: CacheStore, url: String, validator: [UInt8], later: Int64) throws {
  let key = CacheKey(url)
  _ = try store.setMetadata(validator, for: key)  // false: there is no such entry
  _ = try store.setExpiration(later, for: key)
  _ = try store.pin(key)  // eviction leaves it until unpin(key)
}

private func removing(store: CacheStore, url: String, square: Style) throws {
  try store.remove(url)
  try store.removeAllStyles(url)
  try store.removeAll(style: square)
  try store.removeAll(prefix: "https://example.org/")
  try store.removeAll { $0.byteCount > 10_000_000 }
}

private func erasing(store: CacheStore) throws {
  try store.remove("https://example.org/private.jpg", erases: true)
}

private func retaining(store: CacheStore, currentURLs: [String]) throws {
  let removed = try store.retain(only: currentURLs, prefix: "https://example.org/")
  print(removed)
}

private func walking(store: CacheStore, square: Style) {
  store.forEachEntry(prefix: "https://example.org/", style: square) { entry in
    print(entry.key.urlText, entry.byteCount)
    return true  // false ends the walk
  }
}

private func asynchronously(folder: String, jpeg: [UInt8], url: String) async throws {
  let store = try await AsyncCacheStore.open(at: folder)
  try await store.asynchronous.put(jpeg, for: CacheKey(url), options: PutOptions(durability: .synced))
  let copy = await store.asynchronous.bytes(CacheKey(url))

  print(copy?.count ?? 0)
  try await store.asynchronous.close()
}

private func errors(store: CacheStore, jpeg: [UInt8], url: String, report: (String) -> Void) throws {
  do {
    try store.put(jpeg, for: url)
  } catch StoreError.noSpace {
    // The cache can do without: show the picture, and do not keep it.
  } catch StoreError.writeFailed(let error) {
    report("disk trouble, reopen the store: \(error)")
  }
}

private func full(store: CacheStore, isQuiet: () -> Bool) throws {
  try store.setBudgets(byteBudget: 256 << 20)  // holds when this returns
  try store.setBudgets(minimumFreeBytes: 1 << 30)  // evicts while fewer bytes of the disk are free
  try store.setStyleBudget(StyleBudget(count: 250), for: Style("square-60")!)  // at most 250 of these avatars
  try store.setStyleBudget(StyleBudget(byteCount: 40 << 20), for: .original)
  try store.idle(while: { isQuiet() })  // does the work of upkeep now
  let report = try store.compact()  // the smallest folder that keeps every entry
  print(report.bytesBefore, report.bytesAfter)
}

struct DataCache: Sendable {
  let store: CacheStore

  func cachedData(for key: String) -> [UInt8]? { store.bytes(key) }
  func containsData(for key: String) -> Bool { store.contains(key) }
  func storeData(_ data: [UInt8], for key: String) { try? store.put(data, for: key) }
  func removeData(for key: String) { _ = try? store.remove(key) }
  func removeAll() { try? store.removeAll() }
}
