import FuzzSupport

@testable import Vitrine

enum MetadataSeeds {
  static func all() -> [[UInt8]] {
    var seeds: [[UInt8]] = []
    for shape in stride(from: UInt8(0), through: 127, by: 3) {
      var writer = InputWriter()
      writer.append(UInt8(0))
      for text in ["https://example.org/a/b.jpg?q=1", "square-60@2x", "content-type: image/jpeg\n"] {
        writer.append(UInt8(text.utf8.count))
        writer.append(Array(text.utf8))
      }
      writer.append(shape)
      writer.append([0xC0, 0xB0, 0x02, 3, 1, 2, 3, 1, 16, 12, 64, 5])
      // Other metadata, of a length near the limits.
      writer.append([0xF0 | shape / 3 & 7, 0x61, 1, 1, 0x7F])
      seeds.append(writer.bytes)
    }
    for count: UInt8 in 0xF0...0xF7 { seeds.append([0, count, 0x61, 4, 0x61, 0x62, 0x63, 0x64, count, 0x61, 0, 9]) }
    for record in UInt8(0)..<24 {
      for mode: UInt8 in [1, 3] {
        // An invalid sliding expiry, lengths, a source, a layout.
        seeds.append([mode, record, record, 6, 0, 0x20, 64, 1, 0xBF])
        seeds.append([mode, record, record &* 3, 48, 1, 0xC0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0])
        seeds.append([mode, record, record &* 5, 94, 0, 16, 6, 0, 18, 96, 1, 5])
      }
    }
    return seeds
  }
}
