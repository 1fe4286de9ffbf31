import Foundation
import Vitrine
import VitrineImages

/// The additional memory of a process that holds a screenful of pictures and has read every pixel of them.
struct ScreenfulMemory: Codable, Sendable {
  enum Way: String, Codable, CaseIterable, Sendable {
    case mapped
    case decoded

    var title: String {
      switch self {
      case .mapped: "from the store"
      case .decoded: "decoded from JPEG"
      }
    }
  }

  var way: Way
  /// The size of the pixels.
  var byteCount: Int
  var growth: PrivateMemory

  /// Runs in a separate process. The words are WAY FOLDER STYLE COUNT, and the folder has the files of ``ShowSamples``.
  static func hold(_ words: [String]) async throws {
    guard words.count == 4, let way = Way(rawValue: words[0]), let count = Int(words[3]) else {
      throw BenchError("child-hold WAY FOLDER STYLE COUNT")
    }
    let folder = URL(filePath: words[1])
    let style = try ImageStyle(name: words[2])
    let result =
      switch way {
      case .mapped: try holdMapped(folder, style, count)
      case .decoded: try holdDecoded(folder, style, count)
      }
    try ChildRole.report(result)
  }

  private static func holdMapped(_ folder: URL, _ style: ImageStyle, _ count: Int) throws -> ScreenfulMemory {
    let store = try CacheStore.open(at: ShowSamples.storePath(folder))
    defer { try? store.close() }
    func bitmap(_ number: Int) throws -> Bitmap {
      guard let bitmap = store.blob(ShowSamples.key(number), style: style.key).flatMap(Bitmap.init), bitmap.isMapped
      else { throw BenchError("picture \(number) is not mapped") }
      return bitmap
    }
    return try measured(.mapped, count, bitmap) { bitmap in
      bitmap.withPixels { (bitmap.layout.byteCount, $0.readAll()) }
    }
  }

  private static func holdDecoded(_ folder: URL, _ style: ImageStyle, _ count: Int) throws -> ScreenfulMemory {
    let decoder = ImageDecoder()
    func image(_ number: Int) throws -> DecodedImage {
      try decoder.decode(Array(Data(contentsOf: ShowSamples.file(number, style, folder))))
    }
    return try measured(.decoded, count, image) { image in
      image.withPixels { (image.bytesPerRow * image.size.height, $0.readAll()) }
    }
  }

  private static func measured<Picture>(
    _ way: Way, _ count: Int, _ picture: (Int) throws -> Picture, _ read: (Picture) -> (Int, UInt64)
  ) throws -> ScreenfulMemory {
    // The first picture also brings code and buffers into memory, which are not part of the pictures.
    var sum = read(try picture(0)).1
    _ = try PrivateMemory.current()
    let before = try PrivateMemory.current()
    let held = try (0..<count).map(picture)
    var byteCount = 0
    for one in held {
      let (bytes, value) = read(one)
      byteCount += bytes
      sum &+= value
    }
    let after = try PrivateMemory.current()
    return withExtendedLifetime((held, sum)) {
      ScreenfulMemory(way: way, byteCount: byteCount, growth: after - before)
    }
  }
}
