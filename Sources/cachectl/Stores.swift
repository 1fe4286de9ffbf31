import CacheCtlKit
import Vitrine

/// Opens the store of a command.
enum Stores {
  /// For commands that change no entry. Works while another process writes. With `notesUses`, gets count as uses.
  static func read<R>(
    _ arguments: Arguments, notesUses: Bool = false, _ body: (CacheStore) throws -> R
  ) throws -> R {
    var options = StoreOptions()
    options.isReadOnly = true
    options.notesUses = notesUses
    options.createsIfMissing = false
    return try open(arguments, options, body)
  }

  /// For commands that change the store.
  static func write<R>(_ arguments: Arguments, _ options: StoreOptions, _ body: (CacheStore) throws -> R)
    throws -> R
  {
    try open(arguments, options, body)
  }

  private static func open<R>(
    _ arguments: Arguments, _ options: StoreOptions, _ body: (CacheStore) throws -> R
  ) throws -> R {
    var options = options
    if let reads = try arguments.reads(.reads) { options.reads = reads }
    let store = try CacheStore.open(at: path(arguments), options: options)
    let result: R
    do {
      result = try body(store)
    } catch {
      // The first error is the one to report.
      try? store.close()
      throw error
    }
    try store.close()
    return result
  }

  static func path(_ arguments: Arguments) throws -> String {
    let word = arguments.positionals[0]
    if word.isEmpty { throw arguments.fail("the path of the store is empty") }
    return try arguments.text(word, "the path of the store")
  }
}
