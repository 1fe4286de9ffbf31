import Vitrine

extension Originals {
  /// An original, and what it took to get it.
  struct Found: Sendable {
    /// Nil where the original is not kept, and what a style made of it is: the request's, or that of whom it joined. All that
    /// is known of it stands beside that.
    var bytes: StoredBytes?
    /// Of the bytes.
    var digest: Digest
    var record: ResponseRecord?
    /// 0, as the bytes, where another's download served.
    var requestCount = 0
    var receivedByteCount = 0
    /// Given where it came just now, to all whom one download serves.
    var arrival: Arrival?
    var isNew: Bool { arrival != nil }
    /// It may be shown, and should be asked for anew meanwhile.
    var isToBeRenewed = false

    init(bytes: StoredBytes?, digest: Digest, record: ResponseRecord?) {
      self.bytes = bytes
      self.digest = digest
      self.record = record
    }

    init(_ arrival: Arrival) {
      self.init(bytes: arrival.bytes, digest: arrival.digest, record: arrival.record)
      self.arrival = arrival
    }
  }
}
