import PictureFiles
import Testing

@testable import VitrineImages

@Suite struct ProgressiveScansTests {
  /// Returns the parts that a file gives when it arrives in pieces of this many bytes.
  private func parts(_ file: [UInt8], piece: Int, most: Int = 100) -> [[UInt8]] {
    var scans = ProgressiveScans(mostParts: most)
    return stride(from: piece, to: file.count + piece, by: piece).compactMap {
      scans.part(of: Array(file[..<min($0, file.count)]))
    }
  }

  @Test(arguments: [JPEGFile.grainy, JPEGFile.progressive])
  func partsAreCompleteFilesOfTheSameSize(_ file: [UInt8]) throws {
    let decoder = ImageDecoder()
    let whole = try decoder.decode(file)
    let parts = parts(file, piece: 1)
    #expect(!parts.isEmpty)
    for part in parts {
      #expect(part.count < file.count && file.starts(with: part.dropLast(2)))
      let image = try decoder.decode(part)
      #expect(image.size == whole.size)
      // The halves have their colors already.
      for (x, y) in [(2, 2), (whole.size.width - 3, whole.size.height - 3)] {
        #expect(image.color(x, y).isNear(whole.color(x, y), within: 60), "\(image.color(x, y)), \(whole.color(x, y))")
      }
    }
  }

  /// The bytes double from part to part, however they arrive, and the number of parts is limited.
  @Test func partsBecomeRarer() {
    let all = parts(JPEGFile.grainy, piece: 1)
    #expect(all.count == 2)
    for (first, second) in zip(all, all.dropFirst()) { #expect(second.count - 2 >= 2 * (first.count - 2)) }
    #expect(parts(JPEGFile.grainy, piece: 1, most: 1) == [all[0]])
    #expect(parts(JPEGFile.grainy, piece: 1, most: 0).isEmpty && parts(JPEGFile.grainy, piece: 1, most: -1).isEmpty)
    for piece in [2, 3, 7] { #expect(parts(JPEGFile.grainy, piece: piece) == all) }
  }

  @Test func fileThatArrivesAtOnceHasNoPart() {
    #expect(parts(JPEGFile.grainy, piece: JPEGFile.grainy.count).isEmpty)
  }

  @Test func otherFilesHaveNoParts() throws {
    let baseline = try ImageEncoder.encode(.gradient(200, 120), as: .jpeg())
    let png = try ImageEncoder.encode(.gradient(200, 120), as: .png)
    for file in [baseline, png, [], [0xFF], [0xFF, 0xD8], [UInt8](repeating: 0xFF, count: 5000)] {
      #expect(parts(file, piece: 1).isEmpty)
    }
  }

  /// Colors in scans of their own: before the last of them, the picture would be gray.
  @Test func partHasTheCoarseValuesOfAllChannels() throws {
    let file = JPEGFile.grainy
    // The first scan names all three channels. Here it names one of them twice.
    var changed = file
    let scan = try #require(file.indices.dropLast().first { file[$0] == 0xFF && file[$0 + 1] == 0xDA })
    changed[scan + 7] = changed[scan + 5]
    #expect(!parts(file, piece: 1).isEmpty && parts(changed, piece: 1).isEmpty)
  }

  @Test func changedFilesGiveBoundedParts() {
    for seed in 0..<2000 {
      var random = SeededRandom(seed: UInt64(seed))
      var file = JPEGFile.grainy
      for _ in 0...random.below(5) { file[random.below(file.count)] = UInt8(random.below(256)) }
      let found = parts(file, piece: 1 + random.below(64), most: 3)
      #expect(found.count <= 3 && found.allSatisfy { $0.count <= file.count + 2 })
    }
  }
}
