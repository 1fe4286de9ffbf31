import CVitrine
import Foundation
import Testing
import Vitrine

@testable import VitrineC

/// Conditions, files, suspension and names, through the C interface.
@Suite struct EmbeddingCallTests {
  private func condition(_ kind: Int, _ digest: (high: UInt64, low: UInt64) = (0, 0)) -> vitrine_condition {
    var condition = vitrine_condition()
    condition.size = MemoryLayout<vitrine_condition>.size
    condition.kind = Int32(kind)
    condition.digest_high = digest.high
    condition.digest_low = digest.low
    return condition
  }

  private func put(
    _ store: TestStore, _ bytes: [UInt8], _ url: String, if condition: vitrine_condition
  ) -> vitrine_status {
    var condition = condition
    return vitrine_put_if(
      store.handle, url, url.utf8.count, nil, 0, bytes, bytes.count, &condition, nil, nil)
  }

  @Test func putsWithAConditionHappenOnlyIfItIsMet() throws {
    let store = try TestStore()
    #expect(put(store, [1], "a", if: condition(VITRINE_IF_PRESENT)) == VITRINE_UNMET)
    #expect(store.borrowed("a") == nil)
    #expect(put(store, [1], "a", if: condition(VITRINE_IF_ABSENT)) == VITRINE_OK)
    #expect(put(store, [2], "a", if: condition(VITRINE_IF_ABSENT)) == VITRINE_UNMET)
    #expect(store.borrowed("a") == [1])
    var entry = vitrine_entry()
    entry.size = MemoryLayout<vitrine_entry>.size
    #expect(vitrine_lookup(store.handle, "a", 1, nil, 0, &entry, nil, nil) == VITRINE_OK)
    let digest = (entry.digest_high, entry.digest_low)
    #expect(put(store, [3], "a", if: condition(VITRINE_IF_DIGEST, (digest.0, digest.1 ^ 1))) == VITRINE_UNMET)
    #expect(put(store, [3], "a", if: condition(VITRINE_IF_DIGEST, digest)) == VITRINE_OK)
    #expect(put(store, [4], "a", if: condition(VITRINE_IF_DIGEST, digest)) == VITRINE_UNMET)
    #expect(store.borrowed("a") == [3])
    for kind in [0, 4, -1] {
      #expect(put(store, [5], "a", if: condition(kind)) == VITRINE_ERROR_INVALID_ARGUMENT)
    }
    #expect(vitrine_put_if(store.handle, "a", 1, nil, 0, [5], 1, nil, nil, nil) == VITRINE_ERROR_INVALID_ARGUMENT)
    #expect(store.borrowed("a") == [3])
  }

  @Test func aPeekCountsNoUse() throws {
    let store = try TestStore()
    #expect(store.put([1, 2, 3], "a") == VITRINE_OK)
    let before = try store.store.statistics().hitCount
    var sum = 0
    let status = withUnsafeMutablePointer(to: &sum) { sum in
      vitrine_peek(
        store.handle, "a", 1, nil, 0,
        { context, bytes, count in
          context!.assumingMemoryBound(to: Int.self).pointee = UnsafeRawBufferPointer(start: bytes, count: count)
            .reduce(0) { $0 + Int($1) }
        }, sum)
    }
    #expect(status == VITRINE_OK && sum == 6)
    #expect(try store.store.statistics().hitCount == before)
    #expect(vitrine_peek(store.handle, "b", 1, nil, 0, { _, _, _ in }, nil) == VITRINE_NOT_FOUND)
    #expect(vitrine_peek(store.handle, "a", 1, nil, 0, nil, nil) == VITRINE_ERROR_INVALID_ARGUMENT)
  }

  @Test func aFileRangeHasTheBytesOfTheValue() throws {
    let store = try TestStore { $0.compression_level = Int32(VITRINE_NONE) }
    let bytes = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    #expect(store.put(bytes, "a") == VITRINE_OK)
    var read: [UInt8] = []
    let status = withUnsafeMutablePointer(to: &read) { read in
      vitrine_with_file(
        store.handle, "a", 1, nil, 0,
        { context, descriptor, offset, count in
          var bytes = [UInt8](repeating: 0, count: Int(count))
          let done = pread(descriptor, &bytes, bytes.count, off_t(offset))
          context!.assumingMemoryBound(to: [UInt8].self).pointee = done == bytes.count ? bytes : []
        }, read)
    }
    #expect(status == VITRINE_OK && read == bytes)
    #expect(vitrine_with_file(store.handle, "b", 1, nil, 0, { _, _, _, _ in }, nil) == VITRINE_NOT_FOUND)
  }

  @Test func aCopyAppearsWhole() throws {
    let store = try TestStore()
    #expect(store.put([7, 8, 9], "a") == VITRINE_OK)
    let path = store.folder + ".copy"
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(vitrine_copy_to(store.handle, "a", 1, nil, 0, path, nil) == VITRINE_OK)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data([7, 8, 9]))
    #expect(vitrine_copy_to(store.handle, "b", 1, nil, 0, path, nil) == VITRINE_NOT_FOUND)
    var error = vitrine_error()
    #expect(vitrine_copy_to(store.handle, "a", 1, nil, 0, path + "/none", &error) == VITRINE_ERROR_SYSTEM)
    #expect(error.system_code == ENOTDIR || error.system_code == ENOENT)
    #expect(vitrine_copy_to(store.handle, "a", 1, nil, 0, nil, nil) == VITRINE_ERROR_INVALID_ARGUMENT)
  }

  @Test func oneKeyIsFlushed() throws {
    let store = try TestStore()
    #expect(store.put([1], "a") == VITRINE_OK)
    #expect(vitrine_flush_key(store.handle, "a", 1, nil, 0, nil) == VITRINE_OK)
    #expect(vitrine_flush_key(store.handle, "b", 1, nil, 0, nil) == VITRINE_NOT_FOUND)
  }

  @Test func expiredEntriesAreRemoved() throws {
    let store = try TestStore()
    var options = vitrine_put_options()
    options.size = MemoryLayout<vitrine_put_options>.size
    options.expiration = 1
    #expect(vitrine_put(store.handle, "a", 1, nil, 0, [1], 1, &options, nil) == VITRINE_OK)
    #expect(store.put([1], "b") == VITRINE_OK)
    var removed: UInt64 = 9
    // The background may have removed it.
    #expect(vitrine_remove_expired(store.handle, &removed, nil) == VITRINE_OK && removed <= 1)
    #expect(vitrine_contains(store.handle, "a", 1, nil, 0, nil) == VITRINE_NOT_FOUND)
    #expect(vitrine_contains(store.handle, "b", 1, nil, 0, nil) == VITRINE_OK)
  }

  @Test func aSuspendedStoreLetsOthersIn() throws {
    let store = try TestStore()
    #expect(store.put([1], "a") == VITRINE_OK)
    #expect(vitrine_suspend(store.handle, nil) == VITRINE_OK)
    #expect(vitrine_suspend(store.handle, nil) == VITRINE_OK)
    #expect(store.borrowed("a") == nil && store.put([2], "b") == VITRINE_ERROR_CLOSED)
    let other = try TestStore.open(store.folder)
    #expect(vitrine_put(other, "c", 1, nil, 0, [3], 1, nil, nil) == VITRINE_OK)
    #expect(vitrine_resume(store.handle, nil) == VITRINE_ERROR_LOCKED)
    vitrine_store_release(other)
    #expect(vitrine_resume(store.handle, nil) == VITRINE_OK)
    #expect(store.borrowed("a") == [1] && store.borrowed("c") == [3])
    #expect(vitrine_close(store.handle, nil) == VITRINE_OK)
    #expect(vitrine_suspend(store.handle, nil) == VITRINE_ERROR_CLOSED)
    #expect(vitrine_resume(store.handle, nil) == VITRINE_ERROR_CLOSED)
  }

  @Test func aLockedStoreOpensForReadingByWish() throws {
    let store = try TestStore()
    #expect(store.put([1], "a") == VITRINE_OK && vitrine_is_read_only(store.handle) == 0)
    let reader = try TestStore.open(store.folder) { options in
      options.byte_budget = 0
      options.flags = UInt32(VITRINE_OPEN_READ_IF_LOCKED)
    }
    defer { vitrine_store_release(reader) }
    #expect(vitrine_is_read_only(reader) == 1)
    #expect(vitrine_contains(reader, "a", 1, nil, 0, nil) == VITRINE_OK)
    #expect(vitrine_put(reader, "b", 1, nil, 0, [1], 1, nil, nil) == VITRINE_ERROR_READ_ONLY)
    #expect(vitrine_is_read_only(nil) == VITRINE_ERROR_BAD_HANDLE)
  }

  @Test func aNamedStoreIsClosedWithItsLastHandle() throws {
    let name = "vitrine-c-test-\(UUID())"
    let folder = try CacheStore.path(ofStoreNamed: name)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var handles: [OpaquePointer?] = [nil, nil]
    #expect(vitrine_open_named(name, nil, &handles[0], nil) == VITRINE_OK)
    #expect(vitrine_open_named(name, nil, &handles[1], nil) == VITRINE_OK)
    #expect(vitrine_put(handles[0], "a", 1, nil, 0, [1], 1, nil, nil) == VITRINE_OK)
    vitrine_store_release(handles[0])
    #expect(vitrine_contains(handles[1], "a", 1, nil, 0, nil) == VITRINE_OK)
    #expect(vitrine_put(handles[1], "b", 1, nil, 0, [2], 1, nil, nil) == VITRINE_OK)
    #expect(vitrine_close(handles[1], nil) == VITRINE_OK)
    let store = try CacheStore.open(at: folder, options: StoreOptions(createsIfMissing: false))
    #expect(store.bytes("a") == [1] && store.bytes("b") == [2])
    try store.close()
    vitrine_store_release(handles[1])
  }

  @Test(arguments: ["", "a/b", ".", ".."]) func namesWithAPathAreRefused(_ name: String) {
    var store: OpaquePointer?
    #expect(vitrine_open_named(name, nil, &store, nil) == VITRINE_ERROR_INVALID_ARGUMENT && store == nil)
  }
}
