import Vitrine

extension Originals {
  /// An original, with the work that it took.
  struct Found: Sendable {
    /// The bytes, or nil if only a picture made from the original is stored, in the style of this request or of the
    /// request that it joined. The record then comes from that styled picture.
    var bytes: StoredBytes?
    /// The digest of the original.
    var digest: Digest
    var record: ResponseRecord?
    /// The number of requests to servers; this and the bytes are 0 if the request shared another download.
    var requestCount = 0
    var receivedByteCount = 0
    /// Set for a downloaded original, for all requests that share the download.
    var arrival: Arrival?
    /// The request that the server answered; nil if no server was asked for this.
    var load: LoadRequest?
    var isNew: Bool { arrival != nil }
    var basis: KeyVersions.Basis { KeyVersions.Basis(digest: digest, ordinal: arrival?.ordinal) }
    /// The place of the server's answer in the order of downloads and requests; 0 if no server was asked for this.
    var answered: UInt64 = 0
    /// The original is stale: it may be shown, and must be revalidated in the background.
    var isToBeRenewed = false
    /// The download under way, if the server is silent or has failed. It is canceled if no request waits for it.
    var answer: Task<Found, any Error>?

    init(bytes: StoredBytes?, digest: Digest, record: ResponseRecord?) {
      self.bytes = bytes
      self.digest = digest
      self.record = record
    }

    init(_ arrival: Arrival) {
      self.init(bytes: arrival.bytes, digest: arrival.digest, record: arrival.record)
      self.arrival = arrival
      load = arrival.load
    }
  }
}
