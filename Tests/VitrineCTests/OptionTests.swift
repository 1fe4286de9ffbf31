import CVitrine
import Foundation
import Testing
import Vitrine

@testable import VitrineC

@Suite struct OptionTests {
  @Test func everyOptionReachesTheEngine() throws {
    var options = vitrine_options()
    options.byte_budget = 5 << 20
    options.entry_budget = 7
    options.minimum_free_bytes = 9
    options.segment_bytes = 1 << 17
    options.maximum_age = 11
    options.maximum_idle = 13
    options.maximum_styles_per_url = 15
    options.wait_for_lock = 17
    options.durability = vitrine_status(VITRINE_SYNCED)
    options.compression_level = 3
    options.policy = Int32(VITRINE_LRU)
    options.verification = Int32(VITRINE_VERIFY_NEVER)
    options.reads = Int32(VITRINE_READ_COPIED)
    options.flags = 31
    let read = try StoreOptions(options)
    #expect(read.byteBudget == 5 << 20 && read.entryBudget == 7 && read.minimumFreeBytes == 9)
    #expect(read.segmentByteCount == 1 << 17 && read.maximumAgeMilliseconds == 11 && read.maximumIdleMilliseconds == 13)
    #expect(read.maximumStylesPerURL == 15 && read.waitForLockMilliseconds == 17 && read.durability == .synced)
    #expect(read.compressionLevel == 3 && read.policy == .lru && read.verification == .never && read.reads == .copied)
    #expect(read.isReadOnly && !read.createsIfMissing && !read.notesUses && read.recreatesIfRemoved)
    #expect(read.whenUnusable == .recreate)
  }

  @Test func zerosAreTheDefaults() throws {
    let read = try StoreOptions(vitrine_options())
    let defaults = StoreOptions()
    #expect(read.byteBudget == nil && read.entryBudget == nil && read.minimumFreeBytes == nil && read.durability == nil)
    #expect(read.segmentByteCount == nil && read.compressionLevel == nil && read.policy == nil)
    #expect(read.maximumAgeMilliseconds == nil && read.maximumIdleMilliseconds == nil)
    #expect(read.maximumStylesPerURL == nil && read.waitForLockMilliseconds == 0)
    #expect(read.verification == defaults.verification && read.reads == defaults.reads)
    #expect(read.isReadOnly == defaults.isReadOnly && read.createsIfMissing == defaults.createsIfMissing)
    #expect(read.notesUses == defaults.notesUses && read.recreatesIfRemoved == defaults.recreatesIfRemoved)
    #expect(read.whenUnusable == defaults.whenUnusable)
  }

  @Test func noneRemovesASavedLimit() throws {
    let store = try TestStore { $0.entry_budget = 10 }
    #expect(try store.store.entryBudget == 10)
    #expect(vitrine_set_budgets(store.handle, 0, Int64(VITRINE_NONE), 0, nil) == VITRINE_OK)
    #expect(try store.store.entryBudget == 0)
    #expect(try store.store.byteBudget == 16 << 20)
  }

  /// Each field with the numbers at the ends of its range, at an opening and at a put.
  @Test func extremeNumbersAreErrorsOrWork() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "vitrine-c-\(UUID())").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let numbers: [Int64] = [.min, -2, -1, 1, .max]
    let fields: [WritableKeyPath<vitrine_options, Int64>] = [
      \.byte_budget, \.entry_budget, \.minimum_free_bytes, \.segment_bytes, \.maximum_age, \.maximum_idle,
      \.maximum_styles_per_url,
    ]
    let small: [WritableKeyPath<vitrine_options, Int32>] = [
      \.durability, \.compression_level, \.policy, \.verification, \.reads,
    ]
    func open(_ set: (inout vitrine_options) -> Void) {
      var options = vitrine_options()
      options.size = MemoryLayout<vitrine_options>.size
      options.byte_budget = 1 << 20
      set(&options)
      var store: OpaquePointer?
      var error = vitrine_error()
      let status = vitrine_open(folder, &options, &store, &error)
      #expect(status == VITRINE_OK ? store != nil : status < 0 && store == nil && !error.message.isEmpty)
      if store != nil { _ = vitrine_put(store, "a", 1, nil, 0, "a", 1, nil, nil) }
      vitrine_store_release(store)
      try? FileManager.default.removeItem(atPath: folder)
    }
    for number in numbers {
      for field in fields { open { $0[keyPath: field] = number } }
      for field in small { open { $0[keyPath: field] = Int32(clamping: number) } }
    }
    open { $0.wait_for_lock = .min }
    open { $0.wait_for_lock = .max }

    let store = try TestStore()
    let times: [WritableKeyPath<vitrine_put_options, Int64>] = [\.expiration, \.sliding_expiration]
    for number in numbers {
      for field in times {
        var options = vitrine_put_options()
        options.size = MemoryLayout<vitrine_put_options>.size
        options[keyPath: field] = number
        let status = vitrine_put(store.handle, "a", 1, nil, 0, "a", 1, &options, nil)
        #expect(status == VITRINE_OK || status == VITRINE_ERROR_INVALID_ARGUMENT)
        _ = vitrine_contains(store.handle, "a", 1, nil, 0, nil)
        _ = vitrine_set_expiration(store.handle, "a", 1, nil, 0, number, 0, nil)
      }
      _ = vitrine_set_budgets(store.handle, number, 0, 0, nil)
      _ = vitrine_set_budgets(store.handle, 0, number, 0, nil)
      _ = vitrine_set_budgets(store.handle, 0, 0, number, nil)
    }
  }

  @Test func everyOptionOfAPutReachesTheEngine() throws {
    let metadata: [UInt8] = [1, 2, 3]
    try metadata.withUnsafeBytes { bytes in
      var options = vitrine_put_options()
      options.metadata = bytes.baseAddress
      options.metadata_length = 3
      options.sliding_expiration = 5
      options.source = bytes.baseAddress
      options.source_length = 2
      options.source_kind = Int32(VITRINE_SOURCE_NAMED)
      options.durability = Int32(VITRINE_BUFFERED)
      options.pin = Int32(VITRINE_PIN_SET)
      options.page_aligned = 1
      options.width = 4
      options.height = 2
      options.bytes_per_row = 32
      options.pixel_format = UInt32(VITRINE_RGB565)
      let read = try PutOptions(options)
      #expect(read.metadata == metadata && read.slidingExpirationMilliseconds == 5)
      #expect(read.expirationMilliseconds == nil && read.durability == .buffered && read.isPinned == true)
      #expect(read.source == Source([1, 2]).map(SourceOption.named) && read.isPageAligned)
      #expect(read.layout == BitmapLayout(width: 4, height: 2, bytesPerRow: 32, format: .rgb565))
    }
    let defaults = try PutOptions(vitrine_put_options())
    #expect(defaults.source == .automatic && defaults.isPinned == nil && defaults.layout == nil)
  }

  @Test func aWrongOptionOfAPutIsRejected() {
    let changes: [(inout vitrine_put_options) -> Void] = [
      { $0.metadata_length = 1 }, { $0.metadata_length = -1 }, { $0.source_length = 17 }, { $0.source_kind = 9 },
      { $0.source_kind = 2 }, { $0.durability = -1 }, { $0.pin = 3 }, { $0.page_aligned = 2 }, { $0.width = 1 },
      { ($0.width, $0.height, $0.pixel_format) = (1, 1, 256) }, { $0.bytes_per_row = .max },
    ]
    for change in changes {
      var options = vitrine_put_options()
      change(&options)
      #expect(throws: Failure.self) { try PutOptions(options) }
    }
  }
}
