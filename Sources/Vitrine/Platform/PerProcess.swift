import Synchronization

/// An object of each process, which is never freed. A forked child makes an object of its own on the first use. The
/// child has none of the parent's threads, so a lock of the parent's object that was held at the fork may never be
/// released.
///
/// Any thread. Costs a few loads once the object is made.
package final class PerProcess<Object: AnyObject & Sendable>: Sendable {
  private final class Holder: Sendable {
    let object: Object
    let process = ForkGuard()

    init(_ object: Object) { self.object = object }
  }

  private let make: @Sendable () -> Object
  /// The address of the holder of the process that made it; 0 at first.
  private let address = Atomic<UInt>(0)

  package init(_ make: @escaping @Sendable () -> Object) { self.make = make }

  package var current: Object {
    while true {
      let found = address.load(ordering: .acquiring)
      if let pointer = UnsafeRawPointer(bitPattern: found) {
        let holder = Unmanaged<Holder>.fromOpaque(pointer).takeUnretainedValue()
        if !holder.process.isInChild { return holder.object }
      }
      let made = Unmanaged.passRetained(Holder(make()))
      let its = UInt(bitPattern: made.toOpaque())
      if !address.compareExchange(expected: found, desired: its, ordering: .acquiringAndReleasing).exchanged {
        made.release()
      }
    }
  }
}
