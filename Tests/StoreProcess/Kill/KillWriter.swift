import Glibc
import Synchronization
import Vitrine
import VitrineSimulation

/// The process that is killed: opens the store, changes it from several threads, and reports on its output before
/// and after each change.
final class KillWriter: @unchecked Sendable {
  struct Plan {
    var store: String
    var seed: UInt64
    /// Counts these processes.
    var life: Int
    var byteBudget: Int
    /// Changes of each thread before the store is closed; 0 to open it and change nothing, until the end.
    var operations: Int
    /// One thread sometimes removes everything.
    var removesAll: Bool
    /// Entries may be evicted.
    var evicts: Bool
    /// The moment at which the writer kills itself.
    var death: DeadlyMoment?

    var words: [String] {
      [
        store, "\(seed)", "\(life)", "\(byteBudget)", "\(operations)", removesAll ? "all" : "-", evicts ? "evict" : "-",
        death?.text ?? "-",
      ]
    }

    init?(_ words: [String]) {
      guard words.count == 8, let seed = UInt64(words[1]), let life = Int(words[2]), let byteBudget = Int(words[3]),
        let operations = Int(words[4])
      else { return nil }
      self.init(
        store: words[0], seed: seed, life: life, byteBudget: byteBudget, operations: operations,
        removesAll: words[5] == "all", evicts: words[6] == "evict")
      death = DeadlyMoment(words[7])
    }

    init(
      store: String, seed: UInt64, life: Int, byteBudget: Int, operations: Int, removesAll: Bool, evicts: Bool
    ) {
      (self.store, self.seed, self.life, self.byteBudget) = (store, seed, life, byteBudget)
      (self.operations, self.removesAll, self.evicts) = (operations, removesAll, evicts)
    }

    /// Small segments and a small log, so that both rotate all the time. The modes of verification and the policies
    /// take turns.
    var options: StoreOptions {
      StoreOptions(
        byteBudget: byteBudget, segmentByteCount: 256 << 10, policy: policy, verification: verification,
        waitForLockMilliseconds: 5000)
    }

    private var policy: EvictionPolicy { [.s3fifo, .lru, .sieve, .fifo][life / 3 % 4] }

    /// Whether the writer may open far fewer files than there are segments.
    var isScarce: Bool { life % 3 == 1 }

    var verification: Verification { [.firstRead, .always, .never][life % 3] }
  }

  private let plan: Plan
  private let store: CacheStore

  private init(_ plan: Plan) throws {
    self.plan = plan
    var environment = Environment.posix
    if let death = plan.death { environment.fileSystem = DeadlyFileSystem(death) }
    store = try CacheStore.open(at: plan.store, options: plan.options, environment: environment)
  }

  /// Returns the exit status, if it lives that long.
  static func run(_ words: [String]) -> CInt {
    guard let plan = Plan(words) else { return 2 }
    if plan.isScarce, !FileLimit.lower(to: 160) { say(.wrong("no limit of descriptors")) }
    do {
      say(.opening)
      let writer = try KillWriter(plan)
      say(.opened)
      if plan.operations == 0 {
        while true { pause() }
      }
      let threads = (0..<KillKeys.threads).map { thread in SystemThread { writer.change(thread) } }
      for thread in threads { thread.join() }
      say(.closing)
      try writer.store.close()
      say(.closed)
      return 0
    } catch {
      say(.wrong("\(error)"))
      return 3
    }
  }

  private static func say(_ message: KillMessage) { emit(message.line) }

  private func change(_ thread: Int) {
    var operations = KillOperations(thread: thread, life: plan.life, seed: plan.seed, removesAll: plan.removesAll)
    for _ in 0..<plan.operations {
      guard let operation = operations.draw(store) else {
        // Gives upkeep a turn, too.
        usleep(UInt32(operations.below(3000)))
        continue
      }
      KillWriter.say(.begin(thread: thread, kind: operation.kind, effects: operation.effects))
      do {
        let isDone = try operation.body(store)
        KillWriter.say(isDone ? .done(thread: thread) : .nothing(thread: thread))
        if isDone, operations.below(4) == 0 { check(operation, operations.own) }
      } catch StoreError.noSpace where plan.evicts, StoreError.tooLarge where plan.evicts,
        StoreError.aborted where plan.removesAll
      {
        KillWriter.say(.nothing(thread: thread))
      } catch {
        KillWriter.say(.wrong("\(operation.kind) failed: \(error)"))
      }
    }
  }

  /// A key that only this thread writes has its last value, unless another thread removed everything.
  private func check(_ operation: KillOperation, _ own: KillKeys.Own) {
    for effect in operation.effects where own.all.contains(effect.key) {
      switch KillValue.found(store, effect.key) {
      case .success(effect.value): break
      case .success(nil) where plan.evicts || plan.removesAll: break
      case .success(let value):
        KillWriter.say(.wrong("\(effect.text) after \(operation.kind) reads as \(value?.description ?? "nothing")"))
      case .failure(let violation): KillWriter.say(.wrong(violation.text))
      }
    }
  }
}
