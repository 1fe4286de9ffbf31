import CVitrine
import Vitrine

/// Numbers of C in which 0 keeps a value and `VITRINE_NONE` is no limit.
enum Limit {
  /// Returns nil for 0 and 0 for `VITRINE_NONE`. The engine checks other numbers.
  static func optional<Number: FixedWidthInteger & SignedInteger>(_ value: Int64) -> Number? {
    switch value {
    case 0: nil
    case Int64(VITRINE_NONE): 0
    default: Number(value)
    }
  }

  /// Converts an option that has no `VITRINE_NONE`. Returns nil for 0.
  static func required(_ value: Int64) -> Int? { value == 0 ? nil : Int(value) }
}

extension StoreOptions {
  init(_ options: vitrine_options) throws(Failure) {
    self.init()
    byteBudget = Limit.required(options.byte_budget)
    entryBudget = Limit.optional(options.entry_budget)
    minimumFreeBytes = Limit.optional(options.minimum_free_bytes)
    segmentByteCount = Limit.required(options.segment_bytes)
    maximumAgeMilliseconds = Limit.optional(options.maximum_age)
    maximumIdleMilliseconds = Limit.optional(options.maximum_idle)
    maximumStylesPerURL = Limit.required(options.maximum_styles_per_url)
    waitForLockMilliseconds = Int(options.wait_for_lock)
    durability = try Input.durability(options.durability)
    compressionLevel = Limit.optional(Int64(options.compression_level))
    policy = try StoreOptions.policy(options.policy)
    verification = try StoreOptions.verification(options.verification)
    reads = try StoreOptions.reads(options.reads)
    try set(flags: Int(options.flags))
  }

  private mutating func set(flags: Int) throws(Failure) {
    isReadOnly = flags & VITRINE_OPEN_READ_ONLY != 0
    createsIfMissing = flags & VITRINE_OPEN_EXISTING == 0
    notesUses = flags & VITRINE_OPEN_NOTES_NO_USES == 0
    whenUnusable = flags & VITRINE_OPEN_RECREATE_UNUSABLE == 0 ? .fail : .recreate
    recreatesIfRemoved = flags & VITRINE_OPEN_RECREATE_REMOVED != 0
    if flags & VITRINE_OPEN_READ_IF_LOCKED != 0 { whenLocked = .openReadOnly }
    let known =
      VITRINE_OPEN_READ_ONLY | VITRINE_OPEN_EXISTING | VITRINE_OPEN_NOTES_NO_USES | VITRINE_OPEN_RECREATE_UNUSABLE
      | VITRINE_OPEN_RECREATE_REMOVED | VITRINE_OPEN_READ_IF_LOCKED
    guard flags & ~known == 0 else { throw .invalid("there are no flags \(flags & ~known) of an opening") }
  }

  private static func policy(_ value: Int32) throws(Failure) -> EvictionPolicy? {
    if value == 0 { return nil }
    guard let raw = UInt8(exactly: value), let policy = EvictionPolicy(rawValue: raw) else {
      throw .invalid("there is no policy \(value)")
    }
    return policy
  }

  private static func verification(_ value: Int32) throws(Failure) -> Verification {
    switch Int(value) {
    case 0, VITRINE_VERIFY_FIRST_READ: .firstRead
    case VITRINE_VERIFY_ALWAYS: .always
    case VITRINE_VERIFY_NEVER: .never
    default: throw .invalid("there is no verification \(value)")
    }
  }

  private static func reads(_ value: Int32) throws(Failure) -> ReadMode {
    switch Int(value) {
    case 0, VITRINE_READ_MAPPED: .mapped
    case VITRINE_READ_COPIED: .copied
    default: throw .invalid("there is no mode of reading \(value)")
    }
  }
}

extension PutOptions {
  init(_ options: vitrine_put_options) throws(Failure) {
    self.init()
    metadata = Array(
      try Input.bytes(options.metadata, options.metadata_length, most: Input.longestMetadata, "the metadata"))
    expirationMilliseconds = options.expiration == 0 ? nil : options.expiration
    slidingExpirationMilliseconds = options.sliding_expiration == 0 ? nil : options.sliding_expiration
    durability = try Input.durability(options.durability)
    source = try PutOptions.source(options)
    isPinned = try PutOptions.pin(options.pin)
    layout = try PutOptions.layout(options)
    guard (0...1).contains(options.page_aligned) else { throw .invalid("page_aligned is neither 0 nor 1") }
    isPageAligned = options.page_aligned == 1
  }

  private static func source(_ options: vitrine_put_options) throws(Failure) -> SourceOption {
    let bytes = try Input.bytes(options.source, options.source_length, most: 16, "the source")
    switch Int(options.source_kind) {
    case VITRINE_SOURCE_NAMED:
      guard let source = Source(bytes) else { throw .invalid("a source has 1 to 16 bytes") }
      return .named(source)
    case VITRINE_SOURCE_ORIGINAL where bytes.isEmpty: return .automatic
    case VITRINE_SOURCE_NONE where bytes.isEmpty: return .none
    default: throw .invalid("source_kind \(options.source_kind) is unknown, or has bytes and no name")
    }
  }

  private static func pin(_ value: Int32) throws(Failure) -> Bool? {
    switch Int(value) {
    case VITRINE_PIN_KEEP: nil
    case VITRINE_PIN_SET: true
    case VITRINE_PIN_CLEAR: false
    default: throw .invalid("there is no pin \(value)")
    }
  }

  private static func layout(_ options: vitrine_put_options) throws(Failure) -> BitmapLayout? {
    if options.width == 0, options.height == 0, options.bytes_per_row == 0, options.pixel_format == 0 { return nil }
    guard let raw = UInt8(exactly: options.pixel_format), let format = PixelFormat(rawValue: raw),
      let layout = BitmapLayout(
        width: Int(options.width), height: Int(options.height),
        bytesPerRow: options.bytes_per_row == 0 ? nil : Int(options.bytes_per_row), format: format)
    else { throw .invalid("width, height, bytes_per_row and pixel_format are not a layout of a bitmap") }
    return layout
  }
}
