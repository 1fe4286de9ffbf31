import CacheCtlKit
import Glibc
import Vitrine

/// Opens the store of a command.
package enum Stores {
  /// For commands that change no entry. Works while another process writes. With `notesUses`, gets count as uses.
  package static func read<R>(
    _ arguments: Arguments, notesUses: Bool = false, _ body: (CacheStore) throws -> R
  ) throws -> R {
    try closing(openForReading(arguments, notesUses: notesUses), body)
  }

  /// For commands that change the store. Waits for another writer as long as `--wait` says.
  package static func write<R>(_ arguments: Arguments, _ options: StoreOptions, _ body: (CacheStore) throws -> R)
    throws -> R
  {
    let options = try with(arguments, options)
    let path = try path(arguments)
    let store = try LockWait(milliseconds: arguments.waitMilliseconds()).run {
      try CacheStore.open(at: path, options: options)
    }
    return try closing(store, body)
  }

  package static func openForReading(_ arguments: Arguments, notesUses: Bool = false) throws -> CacheStore {
    var options = StoreOptions()
    options.isReadOnly = true
    options.notesUses = notesUses
    options.createsIfMissing = false
    return try CacheStore.open(at: path(arguments), options: with(arguments, options))
  }

  /// Returns the options with the read mode of `--reads`.
  package static func with(_ arguments: Arguments, _ options: StoreOptions) throws -> StoreOptions {
    var options = options
    if let reads = try arguments.reads(.reads) { options.reads = reads }
    return options
  }

  private static func closing<R>(_ store: CacheStore, _ body: (CacheStore) throws -> R) throws -> R {
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

  package static func path(_ arguments: Arguments) throws -> String {
    let word = arguments.positionals[0]
    if word.isEmpty { throw arguments.fail("the path of the store is empty") }
    return try arguments.text(word, "the path of the store")
  }
}

/// Repeats an opening while another opening has the store for writing, until a time has passed.
package struct LockWait {
  private static let pauseMilliseconds: UInt32 = 10

  private let milliseconds: Int

  package init(milliseconds: Int) { self.milliseconds = milliseconds }

  /// Throws the errors of `open`, and `Failure` if the command is interrupted during the wait. `open` must not wait
  /// itself. Blocks the calling thread.
  package func run<R>(_ open: () throws -> R) throws -> R {
    let end = Time.monotonicNanoseconds() + UInt64(milliseconds) * 1_000_000
    while true {
      do {
        return try open()
      } catch StoreError.locked(let processID) {
        if Interruption.isWanted { throw Failure("interrupted") }
        if Time.monotonicNanoseconds() >= end { throw StoreError.locked(processID: processID) }
        usleep(LockWait.pauseMilliseconds * 1000)
      }
    }
  }
}
