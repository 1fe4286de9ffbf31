import CVitrine
import Synchronization
import Vitrine

/// The object behind a `vitrine_store`.
final class OpenStore: Sendable {
  let store: CacheStore
  let styles = StyleTable()
  let isClosed = Atomic<Bool>(false)

  /// The handles of the store if it was opened by name; otherwise this is the only one.
  private let handles: SharedHandles?
  private let process = OwnProcess()

  init(_ store: CacheStore, _ handles: SharedHandles? = nil) {
    self.store = store
    self.handles = handles
  }

  /// Closes the store with its last handle. The others make all changes durable.
  func close() throws(StoreError) {
    guard let handles else { return try store.close() }
    try handles.remove(store)
  }

  /// Whether this is a forked child of the process that opened the store. In a child, the store's locks may be held
  /// forever.
  var isInChild: Bool { process.isLeft }

  /// Returns the open store of a handle. Throws if the handle is not that of a store, if the store is closed, and in a
  /// forked child.
  static func of(_ handle: OpaquePointer?) throws -> OpenStore {
    guard let open = Handle.object(handle, .store, as: OpenStore.self)?.takeUnretainedValue() else {
      throw Failure.badHandle
    }
    if open.isClosed.load(ordering: .acquiring) || open.isInChild { throw StoreError.closed }
    return open
  }

  /// Returns the key of a caller's pointers, with a copy of the URL.
  func key(
    _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ style: UnsafePointer<CChar>?, _ styleLength: Int
  ) throws(Failure) -> CacheKey {
    CacheKey(bytes: Array(try Input.url(url, urlLength)), try self.style(style, styleLength))
  }

  /// Returns the style of a caller's pointer; `original` for NULL.
  func style(_ style: UnsafePointer<CChar>?, _ length: Int) throws(Failure) -> Style {
    guard let text = try Input.style(style, length) else { return .original }
    if let known = styles.find(text) { return known.takeUnretainedValue().style }
    guard let style = Style(text) else { throw Input.invalidStyle }
    return style
  }
}

/// The process that made an object.
struct OwnProcess: Sendable {
  private let forkCount: UInt32

  init() {
    vitrine_count_forks()
    forkCount = vitrine_fork_count()
  }

  /// Whether this is a forked child of that process.
  var isLeft: Bool { forkCount != vitrine_fork_count() }
}

/// The checks of pointers and numbers from callers.
enum Input {
  static let longestURL = 65_536
  static let longestMetadata = 65_536
  static let largestValue = 1 << 30
  static let invalidStyle = Failure.invalid("a style has 1 to 255 bytes of printable ASCII without spaces")

  /// Returns the bytes at `start`. Throws if there are more than `most`, or if `start` is NULL and the length is not 0.
  static func bytes(
    _ start: UnsafeRawPointer?, _ count: Int, most: Int, _ name: StaticString
  ) throws(Failure) -> UnsafeRawBufferPointer {
    guard (0...most).contains(count) else { throw .invalid("\(name) has more than \(most) bytes") }
    guard start != nil || count == 0 else { throw .invalid("\(name) is NULL, but its length is \(count)") }
    return UnsafeRawBufferPointer(start: start, count: count)
  }

  static func url(_ start: UnsafePointer<CChar>?, _ count: Int) throws(Failure) -> UnsafeRawBufferPointer {
    try bytes(start, count, most: longestURL, "the URL")
  }

  /// Returns nil for NULL with length 0.
  static func style(_ start: UnsafePointer<CChar>?, _ count: Int) throws(Failure) -> UnsafeRawBufferPointer? {
    if start == nil, count == 0 { return nil }
    guard let start, (1...255).contains(count) else { throw invalidStyle }
    return UnsafeRawBufferPointer(start: start, count: count)
  }

  /// Returns a text that ends with a NUL. Throws if it is NULL, empty or not UTF-8.
  static func text(_ start: UnsafePointer<CChar>?, _ meaning: StaticString) throws(Failure) -> String {
    guard let start, let text = String(validatingCString: start), !text.isEmpty else {
      throw .invalid("\(meaning) is NULL, empty or not UTF-8")
    }
    return text
  }

  /// Returns the durability of an argument; nil for 0.
  static func durability(_ value: Int32) throws(Failure) -> Durability? {
    switch Int(value) {
    case 0: nil
    case VITRINE_BUFFERED: .buffered
    case VITRINE_SYNCED: .synced
    default: throw .invalid("there is no durability \(value)")
    }
  }

  /// Returns `pointer`, which receives a result. Throws if it is NULL.
  static func result<Value>(
    _ pointer: UnsafeMutablePointer<Value>?, _ name: StaticString
  ) throws(Failure) -> UnsafeMutablePointer<Value> {
    guard let pointer else { throw .invalid("\(name) is NULL") }
    return pointer
  }
}

/// Returns the store behind a handle, for the benchmark and for tests.
package func storeForTests(_ handle: OpaquePointer?) -> CacheStore? {
  Handle.object(handle, .store, as: OpenStore.self)?.takeUnretainedValue().store
}
