/// Access for tests and tools that abandon an open store and count the files and entries that are left.
extension CacheStore {
  package var catalog: Catalog { core.context.catalog }
  package func abandon() { core.upkeep.closer.abandon() }
  /// Throws the error that every change would throw: the store is closed, or a write or a sync has failed.
  package func requireWell() throws(StoreError) { try core.basics.gate.requireWritable() }
}
