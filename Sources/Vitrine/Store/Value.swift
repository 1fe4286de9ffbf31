/// How the pixels of a bitmap lie in memory.
public enum PixelFormat: UInt8, Sendable, CaseIterable {
  case bgra8888 = 1
  case bgrx8888 = 2
  case rgba8888 = 3
  case rgbx8888 = 4
  case rgb565 = 5
  case gray8 = 6

  public var bytesPerPixel: Int {
    switch self {
    case .bgra8888, .bgrx8888, .rgba8888, .rgbx8888: 4
    case .rgb565: 2
    case .gray8: 1
    }
  }

  /// The spelling that commands and reports use, such as `BGRA8888`.
  public var name: String {
    switch self {
    case .bgra8888: "BGRA8888"
    case .bgrx8888: "BGRX8888"
    case .rgba8888: "RGBA8888"
    case .rgbx8888: "RGBX8888"
    case .rgb565: "RGB565"
    case .gray8: "Gray8"
    }
  }

  /// Reads ``name``, in any case; nil for anything else.
  public init?(name: String) {
    guard let match = PixelFormat.allCases.first(where: { $0.name.lowercased() == name.lowercased() }) else {
      return nil
    }
    self = match
  }
}

/// Width, height and row length of a bitmap.
public struct BitmapLayout: Sendable, Hashable {
  /// Pixels.
  public let width: Int
  /// Pixels.
  public let height: Int
  /// Bytes from one row's start to the next one's.
  public let bytesPerRow: Int
  public let format: PixelFormat

  /// Nil unless width and height are 1 to 65,535 and a row has room for its pixels. Rows are packed unless
  /// `bytesPerRow` says otherwise.
  public init?(width: Int, height: Int, bytesPerRow: Int? = nil, format: PixelFormat) {
    let limit = 1...65535
    guard limit.contains(width), limit.contains(height) else { return nil }
    let row = bytesPerRow ?? width * format.bytesPerPixel
    guard row >= width * format.bytesPerPixel, row <= 1 << 30 else { return nil }
    self.width = width
    self.height = height
    self.bytesPerRow = row
    self.format = format
  }

  /// `height * bytesPerRow`: what a bitmap's bytes must count.
  public var byteCount: Int { height * bytesPerRow }
}

/// How a blob's bytes are kept. Reads always give the bytes that were put.
public enum Encoding: UInt8, Sendable {
  case plain = 0
  case zstd = 1
  case bitmap = 2
}

/// When an acknowledged change is sure to survive, and what.
public enum Durability: UInt8, Sendable {
  /// The death of the process; the loss of power after at most about a second.
  case buffered = 0
  /// The loss of power.
  case synced = 1
}

/// What goes with a value besides its bytes.
public struct PutOptions: Sendable {
  /// Up to 65,536 bytes kept beside the value, such as its content type or validator.
  public var metadata: [UInt8] = []
  /// When the entry stops being given out, in milliseconds since 1970; nil for never.
  public var expirationMilliseconds: Int64?
  /// Nil for the store's own.
  public var durability: Durability?
  /// Given for a bitmap: its bytes must be ``BitmapLayout/byteCount`` many, and are never compressed.
  public var layout: BitmapLayout?
  /// The value's first byte lies at a multiple of a page (GPU use) instead of 64 bytes.
  public var isPageAligned = false

  public init(
    metadata: [UInt8] = [], expirationMilliseconds: Int64? = nil, durability: Durability? = nil,
    layout: BitmapLayout? = nil, isPageAligned: Bool = false
  ) {
    self.metadata = metadata
    self.expirationMilliseconds = expirationMilliseconds
    self.durability = durability
    self.layout = layout
    self.isPageAligned = isPageAligned
  }
}

/// An entry without its bytes.
public struct EntryInfo: Sendable, Hashable {
  public let key: CacheKey
  public let digest: Digest
  public let encoding: Encoding
  public let layout: BitmapLayout?
  /// Bytes that a get gives.
  public let byteCount: Int
  /// Bytes that they take in a segment (compressed, and counted for each key that shares them).
  public let storedByteCount: Int
  public let metadata: [UInt8]
  /// When the entry was put, in milliseconds since 1970.
  public let writtenMilliseconds: Int64
  public let expirationMilliseconds: Int64?
  /// True when this key's record points at a payload that another record carries.
  public let isShared: Bool
}

/// Why a key gives nothing, or what it gives.
public enum LookupResult: Sendable, Hashable {
  case found(EntryInfo)
  case missing
  case expired
  /// The entry was there and failed its check (or a page of it could not be read); it has been dropped.
  case damaged
  case closed
}

/// Something wrong, with what to do about it.
public enum StoreError: Error, Sendable, Equatable {
  /// There is no room within the budget, or on the disk. Removing entries or raising the budget helps.
  case noSpace
  /// The value can never fit: more than 1 GiB, or more than the budget can hold.
  case tooLarge(byteCount: Int, limit: Int)
  /// An argument outside its limits.
  case invalidArgument(String)
  /// The disk refused a write or a sync. The store gives no more durable acknowledgements; reads go on. Reopen it.
  case writeFailed(SystemError)
  /// Another opening has the store for writing; the process id is 0 when it could not be read.
  case locked(processID: Int32)
  /// The folder holds something else, or nothing that can be recognised.
  case notAStore(path: String, reason: String)
  /// Written by a later version of this library.
  case unsupportedFormat(found: UInt32, supported: UInt32)
  /// There is no store at this path, and none was to be made.
  case noSuchStore(path: String)
  /// The store is closed, or this is a forked child of the process that opened it.
  case closed
  /// The store was opened for reading only.
  case readOnly
  /// The folder was removed or replaced while the store was open.
  case storeRemoved
  /// The store cannot be read, and is not to be made anew.
  case unreadable(path: String, reason: String)
  /// The system refused something else, with the call and its errno.
  case system(SystemError)
}

extension StoreError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .noSpace: "no space left within the store's budget or on its disk"
    case .tooLarge(let byteCount, let limit): "\(byteCount) bytes are more than the \(limit) that can be stored"
    case .invalidArgument(let text): text
    case .writeFailed(let error): "the disk refused a write (\(error)); reopen the store"
    case .locked(let processID):
      processID > 0 ? "the store is open for writing in process \(processID)" : "the store is open for writing"
    case .notAStore(let path, let reason): "\(path) is not a store: \(reason)"
    case .unsupportedFormat(let found, let supported):
      "the store has format \(found), this version reads up to \(supported)"
    case .noSuchStore(let path): "there is no store at \(path)"
    case .closed: "the store is closed"
    case .readOnly: "the store is open for reading only"
    case .storeRemoved: "the store's folder was removed or replaced"
    case .unreadable(let path, let reason): "the store at \(path) cannot be read: \(reason)"
    case .system(let error): "\(error)"
    }
  }
}
