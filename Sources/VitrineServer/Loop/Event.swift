import CEvent

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// An event of libevent that calls a closure with an object, which must live until ``free()``.
///
/// Used on the thread of its loop.
final class Event {
  struct Kinds: OptionSet {
    let rawValue: Int16
    static let read = Kinds(rawValue: Int16(EV_READ))
    static let write = Kinds(rawValue: Int16(EV_WRITE))
    /// The peer sends nothing more.
    static let closed = Kinds(rawValue: Int16(EV_CLOSED))
    /// One call for each change, instead of calls for as long as the state lasts.
    static let edge = Kinds(rawValue: Int16(bitPattern: UInt16(EV_ET)))
    static let persistent = Kinds(rawValue: Int16(EV_PERSIST))
    static let signal = Kinds(rawValue: Int16(EV_SIGNAL))
  }

  private let call: (Kinds) -> Void
  private var handle: OpaquePointer?
  private(set) var isAdded = false

  /// Returns nil if memory is short.
  init?<Target: AnyObject>(
    _ base: OpaquePointer, _ descriptor: Int32, _ kinds: Kinds, _ target: Target,
    _ body: @escaping (Target, Kinds) -> Void
  ) {
    call = { [unowned target] kinds in body(target, kinds) }
    let made = event_new(
      base, descriptor, kinds.rawValue,
      { _, kinds, event in
        guard let event else { return }
        Unmanaged<Event>.fromOpaque(event).takeUnretainedValue().call(Kinds(rawValue: kinds))
      }, Unmanaged.passUnretained(self).toOpaque())
    guard let made else { return nil }
    handle = made
  }

  deinit { free() }

  func add() {
    guard let handle, !isAdded else { return }
    isAdded = event_add(handle, nil) == 0
  }

  /// Also calls the closure after this time. A persistent event calls it again each time that it has passed.
  func add(milliseconds: Int) {
    guard let handle else { return }
    var time = timeval(
      tv_sec: numericCast(milliseconds / 1000), tv_usec: numericCast(milliseconds % 1000 * 1000))
    isAdded = event_add(handle, &time) == 0
  }

  func remove() {
    guard let handle, isAdded else { return }
    event_del(handle)
    isAdded = false
  }

  func free() {
    if let handle { event_free(handle) }
    handle = nil
    isAdded = false
  }
}
