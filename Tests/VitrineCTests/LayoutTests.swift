import CVitrine
import Testing

/// Pins the structs for programs that are already compiled. `layout.c` does the same for C.
@Suite struct LayoutTests {
  @Test func structsHaveTheirFirstSizesAndGrowOnlyAtTheEnd() {
    #expect(MemoryLayout<vitrine_error>.size == 512 && MemoryLayout<vitrine_key>.size == 32)
    #expect(MemoryLayout<vitrine_options>.size == 96)
    #expect(MemoryLayout<vitrine_options>.offset(of: \.byte_budget) == 8)
    #expect(MemoryLayout<vitrine_options>.offset(of: \.flags) == 92)
    #expect(MemoryLayout<vitrine_put_options>.size == 88)
    #expect(MemoryLayout<vitrine_put_options>.offset(of: \.source_kind) == 56)
    #expect(MemoryLayout<vitrine_put_options>.offset(of: \.pixel_format) == 84)
    #expect(MemoryLayout<vitrine_value_info>.size == 96)
    #expect(MemoryLayout<vitrine_value_info>.offset(of: \.metadata) == 24)
    #expect(MemoryLayout<vitrine_value_info>.offset(of: \.pixel_format) == 92)
    #expect(MemoryLayout<vitrine_entry>.size == 144)
    #expect(MemoryLayout<vitrine_entry>.offset(of: \.last_used) == 112)
    #expect(MemoryLayout<vitrine_entry>.offset(of: \.pixel_format) == 140)
    #expect(MemoryLayout<vitrine_compaction>.size == 56 && MemoryLayout<vitrine_verification>.size == 40)
    #expect(MemoryLayout<vitrine_condition>.size == 32)
    #expect(MemoryLayout<vitrine_condition>.offset(of: \.kind) == 24)
    #expect(MemoryLayout<vitrine_problem>.size == 72)
    #expect(MemoryLayout<vitrine_problem>.offset(of: \.is_lost) == 64)
    #expect(MemoryLayout<vitrine_stat>.size == 216)
    #expect(MemoryLayout<vitrine_stat>.offset(of: \.segments) == 200)
    #expect(MemoryLayout<vitrine_stat>.offset(of: \.pinned_entries) == 208)
  }

  @Test func constantsKeepTheirValues() {
    #expect([VITRINE_OK, VITRINE_NOT_FOUND, VITRINE_END, VITRINE_UNMET] == [0, 1, 2, 3])
    #expect([VITRINE_IF_ABSENT, VITRINE_IF_PRESENT, VITRINE_IF_DIGEST] == [1, 2, 3])
    let errors = [
      VITRINE_ERROR_INVALID_ARGUMENT, VITRINE_ERROR_NO_SPACE, VITRINE_ERROR_TOO_LARGE, VITRINE_ERROR_WRITE_FAILED,
      VITRINE_ERROR_LOCKED, VITRINE_ERROR_NOT_A_STORE, VITRINE_ERROR_UNSUPPORTED_FORMAT, VITRINE_ERROR_NO_SUCH_STORE,
      VITRINE_ERROR_CLOSED, VITRINE_ERROR_READ_ONLY, VITRINE_ERROR_ABORTED, VITRINE_ERROR_STORE_REMOVED,
      VITRINE_ERROR_UNREADABLE, VITRINE_ERROR_SYSTEM, VITRINE_ERROR_BAD_HANDLE,
    ]
    #expect(errors == Array((-15 ... -1).reversed()))
    #expect([VITRINE_BUFFERED, VITRINE_SYNCED] == [1, 2])
    #expect([VITRINE_LRU, VITRINE_FIFO, VITRINE_S3FIFO, VITRINE_SIEVE] == [1, 2, 3, 4])
    #expect([VITRINE_ENCODING_PLAIN, VITRINE_ENCODING_ZSTD, VITRINE_ENCODING_BITMAP] == [0, 1, 2])
    #expect([VITRINE_MISS_ABSENT, VITRINE_MISS_EXPIRED, VITRINE_MISS_OUTDATED, VITRINE_MISS_DAMAGED] == [1, 2, 3, 4])
  }
}
