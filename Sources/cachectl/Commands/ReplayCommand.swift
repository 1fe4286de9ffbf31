import CacheCtlKit
import Glibc
import Vitrine

enum ReplayCommand: Command {
  private static let size = Option("budget", value: "SIZE", "the byte budget: 500MB, 2GiB, plain bytes")
  private static let share = Option(
    "budget-share", value: "F", "the budget as a share of the bytes of all distinct objects; a list with --compare")
  private static let policy = Option(
    "policy", value: EvictionPolicy.allCases.map(\.name).joined(separator: "|"), "which entries go first (s3fifo)")
  private static let compare = Option("compare", "replay with every policy, and simulate other policies")
  private static let format = Option(
    "format", value: TraceFormat.allCases.map(\.rawValue).joined(separator: "|"), "the trace's format (detected)")
  private static let seed = Option("seed", value: "N", "the seed of the payloads (1)")
  private static let rate = Option("rate", value: "SIZE", "put at most SIZE bytes a second")
  private static let store = Option("store", value: "FOLDER", "where to make the store; must not exist")
  private static let keep = Option("keep", "do not remove the store at the end")
  private static let curve = Option("curve", "compare the store's miss-ratio curve with simulated LRU")
  private static let svg = Option("svg", value: "FILE", "draw the miss ratios as a picture")

  static let specification = CommandSpecification(
    name: "replay", summary: "run a trace of requests through a store, and measure it",
    positionals: [.required("TRACE")],
    options: [size, share, policy, compare, format, seed, rate, store, keep, curve, svg, .json],
    notes: [
      "Each request is a get. A miss puts the object with payload of its size: bytes that do not compress and "
        + "that no other object has. They follow from --seed. Every hit is read in full and compared. Other bytes, "
        + "a damaged entry, or a folder above its budget are problems: the exit status is 1. A trace that cannot be "
        + "read is 3.",
      "A trace is a file, plain or packed by gzip or zstd. Format text: lines 'object size', both decimal, the "
        + "object below 2^64; blank lines and lines that begin with # are skipped. Format oracle: libCacheSim's "
        + "oracleGeneral, records of 24 bytes. A size is 1 byte to 1 GiB. If an object comes back with another "
        + "size, the request is a miss, and the put overwrites. An object above the largest size that the budget "
        + "allows is a miss and is not stored.",
      "The budget is that of the whole folder. --budget-share first reads the trace once to count the distinct "
        + "objects, each at the size of its first request. It keeps their ids in memory. --compare keeps the "
        + "objects of the simulated caches. Nothing else grows with the trace.",
      "The store is made in a temporary folder in TMPDIR or else in the current folder, and removed at the end, "
        + "also on ^C. With --store and several runs, each run has a folder of its own in FOLDER. Choose a real "
        + "disk: a file system in memory counts no writes.",
      "--compare also simulates LRU, FIFO, SIEVE and S3-FIFO object by object, with nothing but payload in the "
        + "cache. Their capacity is the average live payload of each store (capacity: live; store: its policy), and "
        + "the whole budget (capacity: budget). The plot has each policy beside its simulation with as much payload.",
      "--rate pauses before puts. With a rate well below that of the disk, put_p999 and put_max are those of a store "
        + "whose upkeep has time. Without it, puts follow each other as fast as the disk takes them.",
      "--curve shows the miss ratios that the store estimates for other budgets, as stat does, beside those of "
        + "simulated LRU caches that hold as many bytes of values.",
      "write_amplification is the system's count if there is one: write_bytes of /proc/self/io up to a flush at "
        + "the end, for each byte put. It has whole pages, log, index, copies and mapped pages, counted when they "
        + "become dirty; a page written again before the disk has it counts once. bytes_cancelled of it were "
        + "removed before the disk had them; they are not subtracted, because a longer run would have written them. "
        + "write_amplification_engine is the engine's own count of bytes, without rounding to pages.",
      "With --json: trace, seed, distinct_objects, distinct_bytes (null without --budget-share), policy, "
        + "budget_bytes, budget_share, rate (null without --rate), requests, misses, miss_ratio, "
        + "byte_miss_ratio, write_amplification, "
        + "write_amplification_engine, write_amplification_source (system or engine), bytes_written, "
        + "bytes_cancelled (null without the system's count), puts, bytes_put, too_large, bytes_on_disk_max (the "
        + "blocks of all files, each \(Replay.sampleInterval) requests and at the end; a sample above the budget is "
        + "taken up to three times, because a file that is removed meanwhile may count with its successor), "
        + "bytes_live (payload; mean of these samples since the first eviction), bytes_live_end, was_full, "
        + "evictions, mismatches, damaged, "
        + "seconds (all work and pauses), puts_per_second (of the time in puts), put_p50, put_p999, put_max, get_p50, "
        + "get_p999, get_max (nanoseconds; gets that hit, without the comparison). Several runs are a list, runs, "
        + "beside simulations (policy, budget_bytes, budget_share, capacity, store, capacity_bytes, requests, misses, "
        + "miss_ratio, byte_miss_ratio). With --curve: curves (policy, budget_bytes, mean_error, and points: "
        + "budget_bytes, value_bytes, miss_ratio, simulated_miss_ratio).",
    ],
    examples: [
      .init("cachectl replay requests.txt.gz --budget 500MB", "what would this budget miss?"),
      .init("cachectl replay requests.txt --budget-share 0.1 --policy fifo --json", "for a program"),
      .init(
        "cachectl replay web.zst --compare --budget-share 0.01,0.1,0.3 --svg web.svg",
        "which policy, and which budget?"),
      .init("cachectl replay requests.txt --budget 2GB --rate 100MB", "how long does the slowest put take?"),
    ])

  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    let trace = Trace(path: arguments.positionals[0], format: try traceFormat(arguments))
    let seed = UInt64(try arguments.count(seed) ?? 1)
    let policies = try policies(arguments)
    let byteRate = try arguments.size(rate)
    if byteRate == 0 { throw arguments.fail("--rate: 0 bytes a second would never end") }
    let wanted = try arguments.value(store).map { try arguments.text($0, "the path of the store") }
    if wanted?.isEmpty == true { throw arguments.fail("the path of the store is empty") }
    // Checked before the trace is counted, which may take long.
    let (size, shares) = try sizeAndShares(arguments)

    Interruption.listen()
    let progress = Progress("replay")
    defer { progress.clear() }
    // Before the folder: a missing trace must not leave one.
    let totals = try shares == nil ? nil : TraceTotals(trace, progress: progress)
    _ = try trace.reader()
    let budgets = try budgets(size, shares, totals, arguments)
    var results = ReplayResults(
      traceName: trace.name, seed: seed, totals: totals, isComparison: arguments.has(compare))

    let folder = try TemporaryFolder.make(at: wanted, for: "replay", in: ".")
    defer {
      if arguments.has(keep) {
        warn("the store is kept in \(printable(Array(folder.utf8)))", progress)
      } else {
        FolderTree.remove(folder)
      }
    }
    let isSingle = budgets.count * policies.count == 1
    for budget in budgets {
      for policy in policies {
        let path = isSingle ? folder : "\(folder)/\(policy.name)-\(budget.byteCount)"
        let replay = Replay(
          trace, policy: policy, budget: budget, payload: TracePayload(seed: seed), path: path, byteRate: byteRate)
        results.replays.append(try replay.run(progress: progress) { warn($0, progress) })
        if !isSingle, !arguments.has(keep) { FolderTree.remove(path) }
      }
    }
    if results.isComparison {
      results.simulations = try SimulationReport.all(trace, results, progress: progress)
    }
    if arguments.has(curve) { results.curves = try CurveCheck.all(trace, results, progress: progress) }
    progress.clear()
    if arguments.has(.json) {
      try output.write(ReplayJSON.document(results))
    } else {
      try output.write(ReplayText.text(results))
    }
    // The report is more than the picture, so a picture that cannot be written must not take it away.
    try output.flush()
    if let file = arguments.value(svg) { try write(ReplayPlot(results).svg, to: file) }
    let problems = results.replays.flatMap(\.problems)
    for problem in problems { warn(problem, progress) }
    return problems.isEmpty ? .done : .problemFound
  }

  private static func policies(_ arguments: Arguments) throws -> [EvictionPolicy] {
    let chosen = try arguments.policy(policy)
    guard arguments.has(compare) else { return [chosen ?? .s3fifo] }
    if chosen != nil { throw arguments.fail("--compare replays with every policy, so it excludes --policy") }
    return EvictionPolicy.allCases
  }

  private static func traceFormat(_ arguments: Arguments) throws -> TraceFormat? {
    guard let word = arguments.value(format) else { return nil }
    guard let format = TraceFormat(rawValue: String(decoding: word, as: UTF8.self)) else {
      let names = TraceFormat.allCases.map(\.rawValue).joined(separator: " or ")
      throw arguments.fail("--\(Self.format.name): '\(printable(word))' is not a format (\(names))")
    }
    return format
  }

  /// Exactly one of both is returned.
  private static func sizeAndShares(_ arguments: Arguments) throws -> (size: Int?, shares: [Double]?) {
    let size = try arguments.size(size)
    guard let word = arguments.value(share) else {
      guard size != nil else { throw arguments.fail("--budget or --budget-share is needed") }
      return (size, nil)
    }
    if size != nil { throw arguments.fail("--budget and --budget-share exclude each other") }
    guard let shares = ReplayBudget.shares(String(decoding: word, as: UTF8.self)) else {
      throw arguments.fail("--\(share.name): '\(printable(word))' is not a share (0.1, or a list such as 0.01,0.1)")
    }
    if shares.count > 1, !arguments.has(compare) { throw arguments.fail("several shares need --compare") }
    return (nil, shares)
  }

  /// Each budget once, in the order given.
  private static func budgets(
    _ size: Int?, _ shares: [Double]?, _ totals: TraceTotals?, _ arguments: Arguments
  ) throws -> [ReplayBudget] {
    var budgets: [ReplayBudget] = []
    if let size { budgets.append(ReplayBudget(byteCount: size)) }
    for share in shares ?? [] {
      let budget = ReplayBudget(share: share, of: totals?.distinctByteCount ?? 0)
      if !budgets.contains(where: { $0.byteCount == budget.byteCount }) { budgets.append(budget) }
    }
    for budget in budgets where budget.byteCount < CacheFormat.smallestBudget {
      throw arguments.fail(
        "a budget of \(budget.byteCount) bytes is too small: a store has at least \(CacheFormat.smallestBudget)")
    }
    return budgets
  }

  private static func write(_ text: String, to path: [UInt8]) throws {
    let file = try Descriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o666)
    let output = Output(descriptor: file.raw, name: printable(path))
    try output.write(text)
    try output.flush()
  }

  private static func warn(_ text: String, _ progress: Progress) {
    progress.clear()
    Diagnostics.write("cachectl replay: \(text)\n")
  }
}
