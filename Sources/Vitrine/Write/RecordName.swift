/// An entry as it was when somebody decided that it should go.
struct RecordName {
  let hash: KeyHash
  let location: Location
  let sequence: UInt64
}
