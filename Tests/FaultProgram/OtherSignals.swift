import Glibc
import Synchronization
import Vitrine

private let handled = Atomic<Int>(0)

/// SIGBUS that does not come from the store.
struct OtherSignals {
  let folder: String

  /// A fault in a file that other code mapped; `handled`: other code has a handler for it, too.
  func faultInAForeignFile(handled isHandled: Bool) throws {
    if isHandled {
      var action = sigaction()
      action.__sigaction_handler.sa_sigaction = { _, info, _ in
        // As in a program that maps files itself: a readable page, and a note.
        let page = UInt(bitPattern: info!.pointee._sifields._sigfault.si_addr) & ~4095
        mmap(UnsafeMutableRawPointer(bitPattern: page), 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)
        handled.wrappingAdd(1, ordering: .relaxed)
      }
      action.sa_flags = SA_SIGINFO
      expect(sigaction(SIGBUS, &action, nil) == 0, "no handler")
    }
    try CacheStore.installBusErrorGuard()
    let store = try CacheStore.open(at: folder, options: StoreOptions(byteBudget: 16 << 20))
    try store.put(value(1, 50_000), for: "a")
    expect(store.bytes("a") != nil, "not there")
    for file in segmentFiles(store) { cut(file, to: 0) }
    expect(store.bytes("a") == nil, "zeros were given")
    expect(handled.load(ordering: .relaxed) == 0, "our own fault was passed on")

    let descriptor = Glibc.open("\(folder)/foreign", O_RDWR | O_CREAT, 0o600)
    expect(ftruncate(descriptor, 8192) == 0, "no file")
    let memory = mmap(nil, 8192, PROT_READ, MAP_SHARED, descriptor, 0)!
    expect(ftruncate(descriptor, 0) == 0, "not cut")
    let byte = memory.load(fromByteOffset: 4096, as: UInt8.self)
    // The optimizer does not load an unused value.
    print("read \(byte)")
    expect(isHandled && byte == 0 && handled.load(ordering: .relaxed) == 1, "the fault went nowhere")
    try? store.close()
  }

  /// A signal that another process could send.
  func send(ignored: Bool) throws {
    if ignored { signal(SIGBUS, SIG_IGN) }
    try CacheStore.installBusErrorGuard()
    kill(getpid(), SIGBUS)
    expect(ignored, "the signal went nowhere")
  }
}
