/// The memory and the file of a segment that the catalog has forgotten, for as long as somebody is at work on it.
struct Leaving {
  weak var storage: SegmentStorage?
}
