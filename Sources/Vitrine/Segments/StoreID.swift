/// The id of a store, drawn at random when it is made. Every checksum of its files is taken under it, so that a
/// file of another store fails every check.
package struct StoreID: Hashable, Sendable {
  package let low: UInt64
  package let high: UInt64
  package init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }
}
