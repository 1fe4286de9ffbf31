/// For those who cut a store off and count what is left.
extension CacheStore {
  package var catalog: Catalog { core.context.catalog }
  package func abandon() { core.closer.abandon() }
  /// Throws what every change would: when it is closed, or a write or a sync has failed.
  package func requireWell() throws(StoreError) { try core.gate.requireWritable() }
}
