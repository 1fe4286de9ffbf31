/// TIFF files whose pixels are not compressed, in strips of two rows.
package struct TIFFFile {
  package var width: Int
  package var height: Int
  /// The samples of a pixel: 1 (gray), 3 (red, green, blue) or 4 (with straight alpha), of 8 or 16 bits.
  package var sampleCount = 3
  package var depth = 8
  package var orientation = 1
  package var isLittleEndian = true
  package var profile: [UInt8] = []
  package var samples: (_ x: Int, _ y: Int) -> [Int]

  package init(width: Int, height: Int, samples: @escaping (_ x: Int, _ y: Int) -> [Int]) {
    (self.width, self.height, self.samples) = (width, height, samples)
  }

  package var bytes: [UInt8] {
    var file = Array((isLittleEndian ? "II" : "MM").utf8)
    append(42, 2, to: &file)
    let place = file.count
    append(0, 4, to: &file)
    var starts: [Int] = []
    for top in stride(from: 0, to: height, by: 2) {
      starts.append(file.count)
      for y in top..<min(height, top + 2) {
        for x in 0..<width { for sample in samples(x, y) { append(sample, depth / 8, to: &file) } }
      }
    }
    let lengths = starts.indices.map { (min(height, $0 * 2 + 2) - $0 * 2) * width * sampleCount * depth / 8 }
    // Tags with their types: 3 for two bytes, 4 for four bytes, 7 for bytes.
    var tags: [(tag: Int, type: Int, values: [Int])] = [
      (256, 4, [width]), (257, 4, [height]), (258, 3, [Int](repeating: depth, count: sampleCount)), (259, 3, [1]),
      (262, 3, [sampleCount == 1 ? 1 : 2]), (273, 4, starts), (274, 3, [orientation]), (277, 3, [sampleCount]),
      (278, 4, [2]), (279, 4, lengths),
    ]
    if sampleCount == 4 { tags.append((338, 3, [2])) }
    if !profile.isEmpty { tags.append((34675, 7, profile.map { Int($0) })) }
    return withDirectory(tags, at: place, file)
  }

  private func withDirectory(_ tags: [(tag: Int, type: Int, values: [Int])], at place: Int, _ file: [UInt8]) -> [UInt8]
  {
    var file = file
    var directory: [UInt8] = []
    append(tags.count, 2, to: &directory)
    for (tag, type, values) in tags {
      let byteCount = type == 3 ? 2 : type == 4 ? 4 : 1
      var content: [UInt8] = []
      for value in values { append(value, byteCount, to: &content) }
      append(tag, 2, to: &directory)
      append(type, 2, to: &directory)
      append(values.count, 4, to: &directory)
      if content.count <= 4 {
        directory += content + [UInt8](repeating: 0, count: 4 - content.count)
      } else {
        if file.count % 2 == 1 { file.append(0) }
        append(file.count, 4, to: &directory)
        file += content
      }
    }
    append(0, 4, to: &directory)
    if file.count % 2 == 1 { file.append(0) }
    var offset: [UInt8] = []
    append(file.count, 4, to: &offset)
    file.replaceSubrange(place..<place + 4, with: offset)
    return file + directory
  }

  private func append(_ value: Int, _ byteCount: Int, to bytes: inout [UInt8]) {
    isLittleEndian ? bytes.appendLittle(value, byteCount: byteCount) : bytes.appendBig(value, byteCount: byteCount)
  }
}
