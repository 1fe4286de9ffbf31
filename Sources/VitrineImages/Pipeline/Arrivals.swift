import Vitrine

/// An original that came just now, held by all who make something of it until that is kept.
final class Arrival: Sendable {
  enum Keeping {
    case unknownToStorage
    case noted
    case kept
  }

  let bytes: StoredBytes
  /// Of the bytes.
  let digest: Digest
  let record: ResponseRecord
  /// What has become of it in the storage. Changed only while the key's changes of the storage wait.
  let keeping = Locked(Keeping.unknownToStorage)
  /// See ``Originals/bodies``.
  private let place: LimitedQueue.Place?

  init(_ bytes: StoredBytes, _ record: ResponseRecord, _ place: LimitedQueue.Place?) {
    self.bytes = bytes
    digest = bytes.digest
    self.record = record
    self.place = place
  }

  /// Its place is one of preheating's once nothing else is behind `interest`.
  func follow(_ interest: Interest) { place?.follow(interest) }
}

/// Originals that have come and may not be kept yet: whoever asks for one meanwhile, in another style, must not download it
/// again. None is held by this.
///
/// Safe from any thread. Noting is O(held ones).
final class Arrivals<Download: Hashable & Sendable>: Sendable {
  private struct Weak {
    weak var arrival: Arrival?
  }

  private let arrivals = Locked<[Download: Weak]>([:])

  func note(_ arrival: Arrival, of download: Download) {
    arrivals.withLock { arrivals in
      // As many as are held at once, and those let go since the last time.
      arrivals = arrivals.filter { $0.value.arrival != nil }
      arrivals[download] = Weak(arrival: arrival)
    }
  }

  /// What has come, as long as somebody makes something of it.
  subscript(download: Download) -> Arrival? { arrivals.withLock { $0[download]?.arrival } }
}
