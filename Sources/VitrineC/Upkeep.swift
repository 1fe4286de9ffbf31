import CVitrine
import Vitrine

/// See `vitrine_compact` in vitrine.h.
@_cdecl("vitrine_compact")
public func compact(
  _ store: OpaquePointer?, _ report: UnsafeMutablePointer<vitrine_compaction>?, _ progress: vitrine_progress_function?,
  _ context: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  reporting(error) {
    let open = try OpenStore.of(store)
    try vitrine_compaction.check(report)
    let done = try open.store.compact { done, total in
      progress.map { $0(context, UInt64(max(0, done)), UInt64(max(0, total))) != 0 } ?? true
    }
    var result = vitrine_compaction()
    result.bytes_before = UInt64(done.bytesBefore)
    result.bytes_after = UInt64(done.bytesAfter)
    result.records_moved = UInt64(done.recordsMoved)
    result.records_dropped = UInt64(done.recordsDropped)
    result.seconds = done.seconds
    result.is_interrupted = done.isInterrupted ? 1 : 0
    result.is_erased = done.isErased ? 1 : 0
    try result.write(to: report)
    return Status.ok
  }
}

/// See `vitrine_verify` in vitrine.h.
@_cdecl("vitrine_verify")
public func verify(
  _ store: OpaquePointer?, _ report: UnsafeMutablePointer<vitrine_verification>?,
  _ problem: vitrine_problem_function?, _ context: UnsafeMutableRawPointer?,
  _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  reporting(error) {
    let open = try OpenStore.of(store)
    try vitrine_verification.check(report)
    let found = try open.store.verify()
    var result = vitrine_verification()
    result.records = UInt64(found.recordCount)
    result.bytes = UInt64(found.byteCount)
    result.damaged = UInt64(found.damaged.count)
    result.lost = UInt64(found.lost.count)
    try result.write(to: report)
    if let problem {
      for one in found.damaged { tell(one, isLost: false, to: problem, context) }
      for one in found.lost { tell(one, isLost: true, to: problem, context) }
    }
    return Status.ok
  }
}

/// Calls a function of the caller with a problem, whose texts live as long as the call.
private func tell(
  _ found: VerificationReport.Problem, isLost: Bool, to function: vitrine_problem_function,
  _ context: UnsafeMutableRawPointer?
) {
  let url = (found.key?.url ?? []).map { CChar(bitPattern: $0) } + [0]
  found.file.withCString { file in
    found.reason.withCString { reason in
      (found.key?.style.name ?? "").withCString { style in
        url.withUnsafeBufferPointer { url in
          var problem = vitrine_problem()
          problem.size = MemoryLayout<vitrine_problem>.size
          problem.file = file
          problem.offset = UInt64(found.offset)
          problem.reason = reason
          problem.is_lost = isLost ? 1 : 0
          if let key = found.key {
            problem.url = url.baseAddress
            problem.url_length = key.url.count
            problem.style = style
            problem.style_length = key.style.name.utf8.count
          }
          function(context, &problem)
        }
      }
    }
  }
}
