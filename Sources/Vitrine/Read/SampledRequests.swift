// Every counted get is offered to the sample of requests (``MissSampler``). Most keys are not sampled: then the get
// compares the key's hash with the threshold of the sample, and does nothing else.
extension Borrow {
  @inline(__always)
  func note(of hash: KeyHash, _ reader: Reader) {
    if Unmanaged.passUnretained(reader.catalog.misses)._withUnsafeGuaranteedRef({ $0.follows(hash) }) {
      noteSampled(hash, reader)
    }
  }

  @inline(__always)
  func noted(of hash: KeyHash, _ reader: Reader) -> Borrow {
    note(of: hash, reader)
    return self
  }

  @inline(never)
  private func noteSampled(_ sampled: KeyHash, _ reader: Reader) {
    // In a forked child, the lock of the sample may be held forever.
    if reader.gate.isForkedChild { return }
    let result: MissSample.Outcome
    switch outcome {
    case .inPlace, .copied: result = .hit(byteCount: count)
    case .missing, .damaged, .unavailable: result = .missing
    case .expired, .outdated: result = .outdated
    case .closed: return
    }
    reader.catalog.misses.noteRequest(sampled, result) { reader.environment.clock.wallMilliseconds() }
  }
}

extension MissSampler {
  /// Notes the changes of a commit. `operations` have the times at which the values of puts expire.
  func note(_ changes: [Change], of operations: [PendingOperation]) {
    for change in changes {
      switch change {
      case .put(let put) where follows(put.hash):
        let due = operations.first { $0.key.hash.stored == put.hash.stored }?.expiry.due
        notePut(put.hash, byteCount: put.logicalByteCount, due: due)
      case .remove(let hash, _) where follows(hash):
        noteRemoval(hash)
      default:
        continue
      }
    }
  }
}
