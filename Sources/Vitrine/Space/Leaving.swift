/// The memory and file of a segment that is no longer in the catalog, as long as a thread uses them.
struct Leaving {
  weak var storage: SegmentStorage?
}
