import Vitrine

/// A downloaded original. Each picture made from it holds it until that picture is stored.
final class Arrival: Sendable {
  enum Keeping {
    case unknownToStorage
    case noted
    case kept
  }

  let bytes: StoredBytes
  /// The digest of ``bytes``.
  let digest: Digest
  let record: ResponseRecord
  /// The request that downloaded it; nil in tests.
  let load: LoadRequest?
  /// Its place in the order of downloads.
  let ordinal: UInt64
  /// The state of the original in the storage. Changes only inside ``KeyedWrites`` of its key.
  let keeping = Locked(Keeping.unknownToStorage)
  /// A place in ``Originals/bodies``.
  private let place: LimitedQueue.Place?

  init(
    _ bytes: StoredBytes, _ record: ResponseRecord, _ place: LimitedQueue.Place?, load: LoadRequest? = nil,
    ordinal: UInt64 = 0
  ) {
    self.bytes = bytes
    self.load = load
    self.ordinal = ordinal
    digest = bytes.digest
    self.record = record
    self.place = place
  }

  /// Turns the place into a preheating place once only preheating is interested, through `interest` and all others.
  func follow(_ interest: Interest) { place?.follow(interest) }
}

/// Downloaded originals that may not be stored yet. A request for another style finds the original here and does not
/// download it again. The references are weak.
///
/// Thread-safe. `note` is O(n) in the arrivals held.
final class Arrivals<Download: Hashable & Sendable>: Sendable {
  private struct Weak {
    weak var arrival: Arrival?
  }

  private let arrivals = Locked<[Download: Weak]>([:])

  /// Notes an arrival, unless a later one is held.
  func note(_ arrival: Arrival, of download: Download) {
    arrivals.withLock { arrivals in
      // Removes the entries of released arrivals, so the table stays as small as the number of live ones.
      arrivals = arrivals.filter { $0.value.arrival != nil }
      if let held = arrivals[download]?.arrival, held.ordinal > arrival.ordinal { return }
      arrivals[download] = Weak(arrival: arrival)
    }
  }

  /// The arrival of a download, while a picture is made from it.
  subscript(download: Download) -> Arrival? { arrivals.withLock { $0[download]?.arrival } }
}
