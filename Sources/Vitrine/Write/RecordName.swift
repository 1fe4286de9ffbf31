/// An entry as it was when its removal was decided.
struct RecordName {
  let hash: KeyHash
  let location: Location
  let sequence: UInt64
}
