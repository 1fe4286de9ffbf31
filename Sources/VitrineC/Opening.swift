import CVitrine
import Vitrine

/// See `vitrine_open` in vitrine.h.
@_cdecl("vitrine_open")
public func open(
  _ path: UnsafePointer<CChar>?, _ options: UnsafePointer<vitrine_options>?,
  _ store: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  opening(path, "the path", options, store, error) { OpenStore(try CacheStore.open(at: $0, options: $1)) }
}

/// See `vitrine_open_named` in vitrine.h.
@_cdecl("vitrine_open_named")
public func openNamed(
  _ name: UnsafePointer<CChar>?, _ options: UnsafePointer<vitrine_options>?,
  _ store: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  opening(name, "the name", options, store, error) { name, options in
    OpenStore(try SharedHandles.shared.open(name, options), .shared)
  }
}

/// Calls `body` with a text and options of the caller, and gives the caller the opened store.
private func opening(
  _ text: UnsafePointer<CChar>?, _ meaning: StaticString, _ options: UnsafePointer<vitrine_options>?,
  _ store: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<vitrine_error>?,
  _ body: (String, StoreOptions) throws -> OpenStore
) -> vitrine_status {
  store?.pointee = nil
  return reporting(error) {
    let result = try Input.result(store, "store")
    let text = try Input.text(text, meaning)
    let options = try StoreOptions(vitrine_options(options: options))
    result.pointee = OpaquePointer(try Handle.make(.store, try body(text, options)))
    return Status.ok
  }
}

/// See `vitrine_is_read_only` in vitrine.h.
@_cdecl("vitrine_is_read_only")
public func isReadOnly(_ store: OpaquePointer?) -> Int32 {
  reporting(nil) { try OpenStore.of(store).store.isReadOnly ? 1 : 0 }
}

/// See `vitrine_suspend` in vitrine.h.
@_cdecl("vitrine_suspend")
public func suspend(_ store: OpaquePointer?, _ error: UnsafeMutablePointer<vitrine_error>?) -> vitrine_status {
  reporting(error) {
    try OpenStore.of(store).store.suspend()
    return Status.ok
  }
}

/// See `vitrine_resume` in vitrine.h.
@_cdecl("vitrine_resume")
public func resume(_ store: OpaquePointer?, _ error: UnsafeMutablePointer<vitrine_error>?) -> vitrine_status {
  reporting(error) {
    try OpenStore.of(store).store.resume()
    return Status.ok
  }
}

/// See `vitrine_close` in vitrine.h.
@_cdecl("vitrine_close")
public func close(_ store: OpaquePointer?, _ error: UnsafeMutablePointer<vitrine_error>?) -> vitrine_status {
  reporting(error) {
    guard let open = Handle.object(store, .store, as: OpenStore.self)?.takeUnretainedValue() else {
      throw Failure.badHandle
    }
    if open.isInChild { throw StoreError.closed }
    if open.isClosed.exchange(true, ordering: .acquiringAndReleasing) { return Status.ok }
    try open.close()
    return Status.ok
  }
}

/// See `vitrine_store_release` in vitrine.h.
@_cdecl("vitrine_store_release")
public func releaseStore(_ store: OpaquePointer?) {
  // A forked child keeps the memory, because a close could wait forever for a lock that another thread held at the
  // fork.
  if let open = Handle.object(store, .store, as: OpenStore.self)?.takeUnretainedValue(), open.isInChild { return }
  _ = close(store, nil)
  Handle.release(store, .store, as: OpenStore.self)
}

/// See `vitrine_flush` in vitrine.h.
@_cdecl("vitrine_flush")
public func flush(_ store: OpaquePointer?, _ error: UnsafeMutablePointer<vitrine_error>?) -> vitrine_status {
  reporting(error) {
    try OpenStore.of(store).store.flush()
    return Status.ok
  }
}

/// See `vitrine_flush_key` in vitrine.h.
@_cdecl("vitrine_flush_key")
public func flushKey(
  _ store: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ style: UnsafePointer<CChar>?,
  _ styleLength: Int, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  reporting(error) {
    let open = try OpenStore.of(store)
    return Status.of(found: try open.store.flush(try open.key(url, urlLength, style, styleLength)))
  }
}

/// See `vitrine_refresh` in vitrine.h.
@_cdecl("vitrine_refresh")
public func refresh(
  _ store: OpaquePointer?, _ changed: UnsafeMutablePointer<Int32>?, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  changed?.pointee = 0
  return reporting(error) {
    let hasChanged = try OpenStore.of(store).store.refresh()
    changed?.pointee = hasChanged ? 1 : 0
    return Status.ok
  }
}

/// See `vitrine_set_budgets` in vitrine.h.
@_cdecl("vitrine_set_budgets")
public func setBudgets(
  _ store: OpaquePointer?, _ byteBudget: Int64, _ entryBudget: Int64, _ minimumFreeBytes: Int64,
  _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  reporting(error) {
    try OpenStore.of(store).store.setBudgets(
      byteBudget: Limit.required(byteBudget), entryBudget: Limit.optional(entryBudget),
      minimumFreeBytes: Limit.optional(minimumFreeBytes))
    return Status.ok
  }
}

/// See `vitrine_guard_bus_errors` in vitrine.h.
@_cdecl("vitrine_guard_bus_errors")
public func guardBusErrors(_ error: UnsafeMutablePointer<vitrine_error>?) -> vitrine_status {
  reporting(error) {
    try CacheStore.installBusErrorGuard()
    return Status.ok
  }
}
