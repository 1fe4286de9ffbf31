import Vitrine

/// Blobs that a workload holds, with the bytes that they must show.
struct HeldBlobs {
  private var held: [(name: String, blob: Blob, bytes: [UInt8])] = []

  mutating func hold(_ name: String, _ blob: Blob, showing bytes: [UInt8]) { held.append((name, blob, bytes)) }

  /// The name of the first blob that shows other bytes than before; nil if all show the same.
  var firstChanged: String? {
    held.first { _, blob, bytes in !blob.withBytes { now in now.withUnsafeBytes { $0.elementsEqual(bytes) } } }?.name
  }

  mutating func releaseAll() { held = [] }
}
