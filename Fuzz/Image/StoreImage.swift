import FuzzSupport

@testable import Vitrine
@testable import VitrineSimulation

/// The files of a store with mutations.
struct StoreImage {
  let world: SimulatedWorld
  /// Whether bytes of a segment were changed and then accepted: then a record may have any content.
  private(set) var mayBeForged = false
  /// Whether records may be damaged, which `verification: .never` accepts if a checkpoint vouches for them.
  private(set) var mayHaveBadRecords = false
  /// Whether the file with the store's identity is unchanged, and no file was replaced by a folder.
  private(set) var mustOpen = true
  private let moment: Int
  private let seals: Bool
  private let paths: [String]
  private var mutationCount = 0

  init(moment: Int, seals: Bool) {
    self.moment = moment
    self.seals = seals
    world = SmallStore.shared.world(moment)
    paths = SmallStore.shared.moments[moment].files.map(\.path)
  }

  /// More mutations would only make a run slower.
  var isFull: Bool { mutationCount >= 24 }

  private func contents(_ path: String) -> [UInt8]? { world.disk.contents(SmallStore.inStore(path)) }

  private mutating func set(_ path: String, _ bytes: [UInt8], isForged: Bool = true) {
    var bytes = bytes
    if path == CacheFormat.storeFile { mustOpen = false }
    if path.hasPrefix(CacheFormat.segmentsFolder) { mayHaveBadRecords = true }
    if seals, isForged {
      Seal.file(path, &bytes, store: SmallStore.shared.identity.store)
      if path.hasPrefix(CacheFormat.segmentsFolder) { mayBeForged = true }
    }
    world.disk.setContents(SmallStore.inStore(path), bytes)
  }

  mutating func make(_ mutation: (kind: Mutation, usesPlacesInUse: Bool), _ input: inout FuzzInput) {
    mutationCount += 1
    let path = paths[input.number(below: paths.count)]
    var bytes = contents(path) ?? []
    func place(_ input: inout FuzzInput) -> Int { self.place(in: bytes, mutation.usesPlacesInUse, &input) }
    switch mutation.kind {
    case .write:
      let offset = place(&input)
      for (index, byte) in input.take(Int(input.byte() & 15) + 1).enumerated() where offset + index < bytes.count {
        bytes[offset + index] = byte
      }
      set(path, bytes)
    case .flip:
      let offset = place(&input)
      if offset < bytes.count { bytes[offset] ^= input.byte() | 1 }
      set(path, bytes)
    case .number:
      let offset = place(&input) & ~3
      Seal.put(input.hostile(), &bytes, at: offset)
      set(path, bytes)
    case .cut: set(path, Array(bytes.prefix(place(&input))), isForged: false)
    case .empty: set(path, [])
    case .remove:
      if path == CacheFormat.storeFile { mustOpen = false }
      world.disk.remove(SmallStore.inStore(path))
    case .exchange:
      let other = paths[input.number(below: paths.count)]
      guard let others = contents(other) else { return }
      set(path, others)
      set(other, bytes)
    case .replace:
      if let others = contents(paths[input.number(below: paths.count)]) { set(path, others) }
    case .stale:
      let moments = SmallStore.shared.moments
      let old = moments[input.number(below: moments.count)].files.first { $0.path == path }?.bytes
      if let old { set(path, old, isForged: false) }
    case .append: set(path, bytes + [UInt8](repeating: input.byte(), count: Int(input.byte())))
    case .content: set(path, input.block())
    case .duplicate: set(next(path, input.byte()), bytes)
    case .folder:
      mustOpen = false
      world.disk.remove(SmallStore.inStore(path))
      world.disk.setContents(SmallStore.inStore(path) + "/", [])
    case .fill:
      let offset = place(&input)
      let (value, count) = (input.byte(), Int(input.next(UInt16.self)))
      for index in offset..<min(bytes.count, offset + count) { bytes[index] = value }
      set(path, bytes)
    }
  }

  /// An offset in the file: any, or that of a nonzero byte.
  private func place(in bytes: [UInt8], _ isInUse: Bool, _ input: inout FuzzInput) -> Int {
    guard !bytes.isEmpty else { return 0 }
    let drawn = Int(input.next(UInt16.self))
    guard isInUse else { return min(drawn * 8 % bytes.count + Int(input.byte() & 7), bytes.count - 1) }
    // Words in use are close together: the drawn one is counted from the front.
    var count = 0
    var last = 0
    for word in stride(from: 0, to: bytes.count, by: 8)
    where bytes[word..<min(word + 8, bytes.count)].contains(where: { $0 != 0 }) {
      last = word
      if count == drawn >> 3 { break }
      count += 1
    }
    return min(last + drawn & 7, bytes.count - 1)
  }

  /// Another name that a file next to this one could have.
  private func next(_ path: String, _ number: UInt8) -> String {
    let folder = path.split(separator: "/").dropLast().joined(separator: "/")
    if path.hasSuffix(".segment") { return "\(folder)/\(SegmentHeader.fileName(UInt64(number)))" }
    if path.hasSuffix(".wal") { return "\(folder)/\(WALFileHeader.fileName(Int(number & 3)))" }
    if path.hasSuffix(".checkpoint") { return "\(folder)/\(CheckpointHeader.fileName(Int(number & 1)))" }
    return number & 1 == 0 ? "STORE.new" : "\(folder)/stray"
  }
}
