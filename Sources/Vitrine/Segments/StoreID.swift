/// The id of a store, drawn at random when the store is made. Checksums of records, pieces and checkpoint bodies
/// use it, so data of another store fail.
package struct StoreID: Hashable, Sendable {
  package let low: UInt64
  package let high: UInt64
  package init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }
}
