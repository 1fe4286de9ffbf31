/// A storage engine as the benchmark sees it. Every engine is measured through these calls alone.
///
/// An engine belongs to all threads. Its session belongs to one thread.
protocol Engine: AnyObject, Sendable {
  /// Makes the resources of one thread: connections, prepared statements, transactions, buffers.
  func session() throws -> any EngineSession
  /// Closes the engine as its users would. All sessions must have ended.
  func close() throws
  /// Bytes that the folder occupies.
  func bytesOnDisk(_ folder: String) throws -> Int
}

extension Engine {
  func bytesOnDisk(_ folder: String) throws -> Int { try Folder.allocatedByteCount(folder) }
}

/// The calls of one thread.
protocol EngineSession: AnyObject {
  /// Stores a value that survives the death of the process, as far as the engine promises that.
  func put(_ key: Key, _ value: UnsafeRawBufferPointer) throws
  /// Stores a value that survives power loss.
  func putSynced(_ key: Key, _ value: UnsafeRawBufferPointer) throws
  /// Stores several values in the engine's own form for that.
  func putBatch(_ entries: [Entry], synced: Bool) throws
  /// Calls `body` with the whole value, where the engine has it in memory. Returns false on a miss.
  func withValue(_ key: Key, _ body: (UnsafeRawBufferPointer) -> Void) throws -> Bool
  /// A get that touches 64 bytes: their words, combined by exclusive or. Returns nil on a miss.
  func touch(_ key: Key) throws -> UInt64?
  /// A get that reads every byte, in the same way.
  func consume(_ key: Key) throws -> UInt64?
  func contains(_ key: Key) throws -> Bool
  /// Removes a value, buffered. Returns whether there was one.
  @discardableResult
  func remove(_ key: Key) throws -> Bool
}

extension EngineSession {
  func touch(_ key: Key) throws -> UInt64? {
    var sum: UInt64?
    _ = try withValue(key) { sum = Words.touch($0) }
    return sum
  }

  func consume(_ key: Key) throws -> UInt64? {
    var sum: UInt64?
    _ = try withValue(key) { sum = Words.consume($0) }
    return sum
  }
}

/// A session with calls that only some engines have. `keys` are prepared before the time is taken.
protocol RetainingSession: EngineSession {
  associatedtype Prepared
  func prepare(_ key: Key) -> Prepared
  /// Gets many values together and touches 64 bytes of each. Returns the number of values found.
  func touchMany(_ keys: [Prepared]) -> Int
  /// Gets a value that outlives the call, touches 64 bytes and releases it.
  func touchRetained(_ key: Prepared) -> UInt64?
}

struct Entry {
  let key: Key
  let value: UnsafeRawBufferPointer
}

/// Facts about a workload that an expert would know when setting an engine up.
struct StorePlan: Sendable {
  var entryCount: Int
  var payloadByteCount: Int
  var typicalByteCount: Int
  /// Set if values gain from compression.
  var isCompressible = false
  /// Set if values are pictures of 100 x 100 pixels, 4 bytes each.
  var isBitmap = false
  /// Bytes to keep at most, for engines that evict. Nil keeps everything.
  var byteBudget: Int?
}
