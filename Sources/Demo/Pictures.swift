/// The picture files that the demonstration imports.
struct Pictures {
  struct Picture {
    let path: String
    let url: String
    let byteCount: Int
  }

  var all: [Picture] = []
  /// Their origin, in words.
  var origin = ""
  var byteCount: Int { all.reduce(0) { $0 + $1.byteCount } }

  /// Files beyond these limits are left out, so that a run stays short.
  static let byteLimit = 1_000_000_000
  static let countLimit = 2000

  private static let endings: Set = [
    "avif", "bmp", "gif", "heic", "heif", "jpeg", "jpg", "jxl", "png", "ppm", "qoi", "svg", "tif", "tiff",
    "webp",
  ]

  /// None.
  init() {}

  /// All pictures below a folder, by their file name extensions.
  init(in folder: String) throws {
    var byteCount = 0
    var isCut = false
    try Files.walk(folder) { file in
      guard let dot = file.name.lastIndex(of: "."),
        Self.endings.contains(file.name[dot...].dropFirst().lowercased()), file.byteCount > 0
      else { return true }
      if all.count == Self.countLimit || byteCount + file.byteCount > Self.byteLimit {
        isCut = true
        return false
      }
      byteCount += file.byteCount
      all.append(
        Picture(path: file.path, url: "https://example.org/photos/" + file.name, byteCount: file.byteCount))
      return true
    }
    guard !all.isEmpty else {
      let endings = Self.endings.sorted().map { "." + $0 }.joined(separator: " ")
      throw DemoError("no picture files in \(folder) (looked for \(endings))")
    }
    origin = "from \(folder)" + (isCut ? " (the first of them)" : "")
  }

  /// Draws pictures into a folder, as QOI files.
  init(drawing count: Int, into folder: String) throws {
    try Files.removeTree(folder)
    try Files.makeFolder(folder)
    for number in 0..<count {
      let digits = String(number)
      let name = "landscape-" + String(repeating: "0", count: 3 - digits.count) + digits + ".qoi"
      try Files.write(Landscape.file(number), to: folder + "/" + name)
    }
    try self.init(in: folder)
    origin = "QOI files, drawn just now"
  }
}
