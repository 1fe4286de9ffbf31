import CDecoderProcess
import Foundation
import VitrineImages

/// A decoder that misbehaves as if hostile bytes controlled it: `decoder-faults BYTES FAULT`.
enum DecoderFaults {
  static func run(_ arguments: [String]) -> Never {
    guard arguments.count == 3, let byteCount = UInt64(arguments[1]), vitrine_process_confine(byteCount) == 0 else {
      exit(2)
    }
    do {
      try act(arguments[2])
    } catch {
      exit(3)
    }
  }

  private static let socket = DecoderWorker.socket

  private static func act(_ fault: String) throws -> Never {
    switch fault {
    case "ends before it is ready": exit(7)
    case "is of another version":
      try socket.send(DecoderFrame(.ready, numbers: [77]))
      sleepForEver()
    case "is never ready": sleepForEver()
    default: try socket.send(DecoderFrame(.ready, numbers: [DecoderFrame.version]))
    }
    if fault == "speaks unasked" { try socket.send(header(1)) }
    var keptMemory: [SharedMemory] = []
    while true {
      let (frame, memory) = try socket.receiveWithMemory()
      guard frame.kind == .pixels else {
        var answer = header(frame.turn)
        switch fault {
        case "hangs over the header": sleepForEver()
        case "answers noise":
          var random = SystemRandomNumberGenerator()
          send((0..<4096).map { _ in UInt8.random(in: 0...255, using: &random) })
          sleepForEver()
        case "answers half a frame":
          send(Array(answer.bytes.prefix(100)))
          exit(0)
        case "answers another turn": answer.turn &+= 1
        case "names another format": answer.numbers[0] = 1
        case "names no format": answer.numbers[0] = .min
        case "claims no width": answer.numbers[1] = 0
        case "claims a width below nothing": answer.numbers[1] = .min
        case "claims the largest width": answer.numbers[1] = .max
        case "claims more than is allowed": (answer.numbers[1], answer.numbers[2]) = (65_535, 65_535)
        case "turns the picture nowhere": answer.numbers[3] = 99
        case "has no bits": answer.numbers[4] = -1
        case "has colours of its own": answer.numbers[5] = 12
        case "has flags of its own": answer.numbers[6] = .max
        case "fails for no reason": answer = DecoderFrame(.failed, turn: frame.turn, numbers: [99])
        case "lies about its own failure":
          answer = DecoderFrame(
            .failed, turn: frame.turn, numbers: [4, .min, .max], text: String(repeating: "é", count: 1000))
        case "has drawn before it was asked": answer = DecoderFrame(.drawn, turn: frame.turn)
        case "sends descriptors":
          try socket.send(answer, SharedMemory(descriptor: dup(socket.descriptor)))
          continue
        case "takes too much memory":
          var blocks = 0
          let kind = MAP_PRIVATE | MAP_ANON
          while blocks < 512, mmap(nil, 16 << 20, PROT_READ | PROT_WRITE, kind, -1, 0) != MAP_FAILED { blocks += 1 }
          exit(blocks < 512 ? 9 : 10)
        case "connects", "makes memory of a file", "starts a program", "writes a file", "removes a file",
          "signals its owner", "starts a thread", "reads a library", "reads a file of its user":
          exit(isDone(fault) ? 10 : 9)
        case "takes too much time":
          _ = vitrine_process_limit_time(0)
          while true {}
        default: break
        }
        try socket.send(answer)
        continue
      }
      let byteCount = Int(frame.numbers[0])
      switch fault {
      case "hangs over the pixels": sleepForEver()
      case "dies of a signal":
        signal(SIGSEGV, SIG_DFL)
        raise(SIGSEGV)
      case "aborts":
        signal(SIGABRT, SIG_DFL)
        abort()
      case "ends": exit(5)
      case "closes and goes on":
        close(socket.descriptor)
        sleepForEver()
      case "keeps the pixels mapped":
        if let memory { _ = vitrine_memory_map(memory.descriptor, byteCount, true) }
      case "cuts the pixels off":
        if let memory, ftruncate(memory.descriptor, 0) == 0 { exit(11) }
      case "changes the pixels later":
        if let memory { keptMemory.append(memory) }
      case "says the header again":
        try socket.send(header(frame.turn))
        continue
      default: break
      }
      try socket.send(DecoderFrame(.drawn, turn: frame.turn))
      if fault == "says it twice" { try socket.send(DecoderFrame(.drawn, turn: frame.turn)) }
      if fault == "floods" { while vitrine_process_send(socket.descriptor, [1, 2, 3], 3, -1) == 0 {} }
      if !keptMemory.isEmpty { usleep(50_000) }
      for memory in keptMemory {
        // If the memory is frozen, the mapping and the write fail, and the shown pixels stay as they were.
        if let bytes = vitrine_memory_map(memory.descriptor, byteCount, true) { memset(bytes, 0xFF, byteCount) }
        var byte: UInt8 = 0xFF
        pwrite(memory.descriptor, &byte, 1, 0)
      }
    }
  }

  /// Tries an act that the sandbox refuses or allows.
  private static func isDone(_ act: String) -> Bool {
    switch act {
    case "connects": return Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) >= 0
    case "makes memory of a file": return (try? SharedMemory(byteCount: 1)) != nil
    case "starts a program":
      var process: pid_t = 0
      return posix_spawn(&process, "/bin/true", nil, nil, [nil], [nil]) == 0
    case "writes a file": return open("/tmp/vitrine-decoder-faults", O_WRONLY | O_CREAT, 0o600) >= 0
    case "removes a file": return unlink("/tmp/vitrine-decoder-faults") == 0 || errno == ENOENT
    case "signals its owner": return kill(getppid(), 0) == 0
    case "starts a thread":
      let hasRun = DispatchSemaphore(value: 0)
      Thread.detachNewThread { hasRun.signal() }
      hasRun.wait()
      return true
    case "reads a library": return open("/usr/lib/os-release", O_RDONLY) >= 0
    default: return open(CommandLine.arguments[0], O_RDONLY) >= 0
    }
  }

  /// Returns the header of an upright JPEG of 16 x 8 pixels, RGB, 8 bits a channel.
  private static func header(_ turn: UInt32) -> DecoderFrame {
    DecoderFrame(.header, turn: turn, numbers: [0, 16, 8, 1, 8, 1, 0])
  }

  private static func send(_ bytes: [UInt8]) {
    _ = bytes.withUnsafeBytes { vitrine_process_send(socket.descriptor, $0.baseAddress, $0.count, -1) }
  }

  private static func sleepForEver() -> Never { while true { sleep(1000) } }
}
