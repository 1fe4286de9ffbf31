import CVitrine
import Foundation
import Testing
import Vitrine

@testable import VitrineC

/// The calls from Swift. `Programs/promises.c` has more tests.
@Suite struct CStoreTests {
  @Test func bytesPointIntoTheStore() throws {
    let store = try TestStore()
    var random = SystemRandomNumberGenerator()
    let bytes = (0..<70_000).map { _ in UInt8.random(in: 0...255, using: &random) }
    #expect(store.put(bytes, "a") == VITRINE_OK)
    var value: OpaquePointer?
    #expect(vitrine_get(store.handle, "a", 1, nil, 0, &value, nil) == VITRINE_OK)
    let blob = try #require(try store.store.blob("a"))
    let start = blob.withBytes { $0.withUnsafeBytes { $0.baseAddress } }
    #expect(vitrine_value_bytes(value) == start, "the bytes are a copy")
    #expect(vitrine_value_size(value) == bytes.count)
    vitrine_value_release(value)
    #expect(store.borrowed("a") == bytes)
  }

  @Test func damageIsReportedWithItsKey() throws {
    let store = try TestStore()
    var random = SystemRandomNumberGenerator()
    let bytes = (0..<70_000).map { _ in UInt8.random(in: 0...255, using: &random) }
    #expect(store.put(bytes, "https://example.org/damaged", style: "wide") == VITRINE_OK)
    #expect(vitrine_flush(store.handle, nil) == VITRINE_OK)
    var value: OpaquePointer?
    #expect(vitrine_get(store.handle, "https://example.org/damaged", 27, "wide", 4, &value, nil) == VITRINE_OK)
    #expect(vitrine_value_is_damaged(value) == 0)
    try damageSegments(of: store.folder, containing: Array(bytes[1000..<1016]))
    #expect(vitrine_value_is_damaged(value) == 1)
    vitrine_value_release(value)

    var report = vitrine_verification()
    report.size = MemoryLayout<vitrine_verification>.size
    var keys: [String] = []
    let status = withUnsafeMutablePointer(to: &keys) { keys in
      vitrine_verify(
        store.handle, &report,
        { context, problem in
          let problem = problem!.pointee
          func text(_ start: UnsafePointer<CChar>?, _ count: Int) -> String {
            String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
          }
          context!.assumingMemoryBound(to: [String].self).pointee.append(
            text(problem.url, problem.url_length) + " " + text(problem.style, problem.style_length))
        }, keys, nil)
    }
    #expect(status == VITRINE_OK && report.damaged + report.lost == 1)
    #expect(keys == ["https://example.org/damaged wide"])
  }

  /// Inverts 16 bytes of a segment.
  private func damageSegments(of folder: String, containing bytes: [UInt8]) throws {
    let segments = URL(fileURLWithPath: folder).appending(path: "segments")
    for file in try FileManager.default.contentsOfDirectory(at: segments, includingPropertiesForKeys: nil) {
      guard let range = try Data(contentsOf: file).range(of: Data(bytes)) else { continue }
      let handle = try FileHandle(forUpdating: file)
      try handle.seek(toOffset: UInt64(range.lowerBound))
      try handle.write(contentsOf: Data(bytes.map { ~$0 }))
      try handle.close()
      return
    }
    Issue.record("no segment has the bytes")
  }

  @Test func statisticsMatchTheEngine() throws {
    let store = try TestStore { $0.policy = Int32(VITRINE_LRU) }
    for index in 0..<20 { #expect(store.put([UInt8](repeating: 7, count: 100 + index), "u\(index)") == VITRINE_OK) }
    #expect(vitrine_set_pinned(store.handle, "u1", 2, nil, 0, 1, 0, nil) == VITRINE_OK)
    var stat = vitrine_stat()
    stat.size = MemoryLayout<vitrine_stat>.size
    #expect(vitrine_get_stat(store.handle, &stat, nil) == VITRINE_OK)
    let statistics = try store.store.statistics()
    #expect(stat.entries == 20 && stat.pinned_entries == 1 && Int(stat.policy) == VITRINE_LRU)
    #expect(Int(stat.blobs) == statistics.blobCount && Int(stat.bytes_logical) == statistics.logicalByteCount)
    #expect(Int(stat.budget_bytes) == statistics.byteBudget && Int(stat.segments) == statistics.segments.count)
    #expect(Int(stat.bytes_live) == statistics.liveByteCount && stat.format_version == statistics.formatVersion)
  }

  /// Programs rely on these names, as on those of `cachectl stat --json`.
  @Test func namesOfTheJSONAreStable() throws {
    let store = try TestStore()
    var text: UnsafeMutablePointer<CChar>?
    var length = 0
    #expect(vitrine_stat_json(store.handle, &text, &length, nil) == VITRINE_OK)
    let json = String(cString: try #require(text))
    vitrine_text_release(text)
    #expect(json.utf8.count == length)
    let object = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    #expect(
      Set(object.keys) == [
        "format_version", "entries", "blobs", "bytes_on_disk", "bytes_live", "bytes_dead", "bytes_pinned",
        "bytes_logical", "budget_bytes", "budget_entries", "minimum_free_bytes", "disk_free_bytes", "policy", "hits",
        "misses", "last_minute", "last_hour", "miss_curve", "write_amplification", "damaged", "lost",
        "last_checkpoint_ms", "last_open", "last_open_for_writing", "evicted", "compaction", "pins",
        "style_budgets", "segments",
      ])
    #expect(names(object["evicted"]) == ["entries", "bytes", "ages"])
    #expect(names(object["compaction"]) == ["steps", "records_moved", "bytes_moved", "segments_freed"])
    #expect(
      names(object["last_open"]) == [
        "kind", "milliseconds", "entries_replayed", "entries_dropped", "may_have_lost_removals", "notes",
      ])
  }

  private func names(_ value: Any?) -> Set<String> { Set((value as? [String: Any] ?? [:]).keys) }

  @Test func aCursorOutlivesItsStore() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "vitrine-c-\(UUID())").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let store = try TestStore.open(folder)
    let url = String(repeating: "u", count: 65_536)
    for style in ["b", "a"] {
      #expect(vitrine_put(store, url, url.utf8.count, style, 1, "x", 1, nil, nil) == VITRINE_OK)
    }
    var cursor: OpaquePointer?
    let flags = UInt32(VITRINE_CURSOR_SORTED)
    #expect(vitrine_cursor_open(store, nil, 0, nil, 0, flags, &cursor, nil) == VITRINE_OK)
    vitrine_store_release(store)
    var styles = ""
    var entry = vitrine_entry()
    entry.size = MemoryLayout<vitrine_entry>.size
    while vitrine_cursor_next(cursor, &entry) == VITRINE_OK {
      styles += String(decoding: UnsafeRawBufferPointer(start: entry.style, count: entry.style_length), as: UTF8.self)
      #expect(String(decoding: UnsafeRawBufferPointer(start: entry.url, count: entry.url_length), as: UTF8.self) == url)
    }
    #expect(styles == "ab")
    vitrine_cursor_release(cursor)
  }

  @Test func aStructOfAnEarlierHeaderIsFilledUpToItsSize() throws {
    let store = try TestStore()
    #expect(store.put([1], "a") == VITRINE_OK)
    var value: OpaquePointer?
    #expect(vitrine_get(store.handle, "a", 1, nil, 0, &value, nil) == VITRINE_OK)
    defer { vitrine_value_release(value) }
    // As with a struct that has grown since: bytes after its first size do not change.
    let memory = UnsafeMutableRawPointer.allocate(byteCount: 256, alignment: 8)
    defer { memory.deallocate() }
    memory.initializeMemory(as: UInt8.self, repeating: 0xEE, count: 256)
    memory.storeBytes(of: vitrine_value_info.firstSize, as: Int.self)
    let info = memory.assumingMemoryBound(to: vitrine_value_info.self)
    #expect(vitrine_value_get_info(value, info) == VITRINE_OK)
    #expect((vitrine_value_info.firstSize..<256).allSatisfy { memory.load(fromByteOffset: $0, as: UInt8.self) == 0xEE })
    for size in [0, vitrine_value_info.firstSize - 1, 4097, -1] {
      memory.storeBytes(of: size, as: Int.self)
      #expect(vitrine_value_get_info(value, info) == VITRINE_ERROR_INVALID_ARGUMENT)
    }
  }
}
