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
