import Foundation
import LocalServer
import Vitrine
import VitrineImages

/// Loads photos from a web server on this machine, in styles: from the network, from memory, and in a new process
/// from the store; then draws all entries as one picture.
struct PictureLoading {
  struct Outcome {
    var origin = ""
    var photoCount = 0
    var byteCount = 0
    var address = ""
    /// In the order in which they were made, with the source of each.
    var passes: [(name: String, pass: PicturePass, remark: String)] = []
    /// The first few files that gave no picture, and the reasons.
    var leftOut: [(name: String, reason: String)] = []
    var leftOutCount = 0
    var sheetPath = ""
    var failures: [String] = []
  }

  static let drawnPhotoCount = 24
  static let mostPhotos = 60
  static let styleNames = ["square-100", "rectangle-320x240", "rounded-60x60-r30@2x", "square-60@2x:RGB565"]

  /// The folder for all of this.
  let folder: String
  private var storePath: String { folder + "/images" }
  private var photoFolder: String { folder + "/photos" }
  private var sheetPath: String { folder + "/sheet.png" }

  private struct Photo {
    let name: String
    let path: String
    let byteCount: Int
  }

  init(folder: String) { self.folder = folder }

  /// `pictures`: the user's own, nil to draw some.
  func run(_ pictures: Pictures?) throws -> Outcome {
    var outcome = Outcome()
    if Files.exists(storePath) {
      guard Files.exists(storePath + "/STORE") else {
        throw DemoError("\(storePath) exists and is not a store of an earlier run; give another --folder")
      }
      try Files.removeTree(storePath)
    }
    var photos = pictures.map(PictureLoading.photos) ?? []
    outcome.origin = pictures?.origin ?? ""
    if photos.isEmpty {
      photos = PictureLoading.photos(try drawnPhotos())
      outcome.origin = "JPEG files, drawn just now"
    }
    outcome.photoCount = photos.count
    outcome.byteCount = photos.reduce(0) { $0 + $1.byteCount }

    let (server, urls) = try PictureLoading.serve(photos)
    outcome.address = server.url("/")
    try load(urls, photos, server, &outcome)
    try drawSheet(&outcome)
    return outcome
  }

  // MARK: Photos and their server

  /// Returns the first 60 pictures with the name of a format that can be decoded here.
  private static func photos(_ pictures: Pictures) -> [Photo] {
    pictures.all.lazy.filter { picture in
      [".jpg", ".jpeg", ".png", ".webp"].contains { picture.path.lowercased().hasSuffix($0) }
    }.prefix(mostPhotos).map { picture in
      let name = picture.path.split(separator: "/").last.map(String.init) ?? picture.path
      return Photo(name: name, path: picture.path, byteCount: picture.byteCount)
    }
  }

  private func drawnPhotos() throws -> Pictures {
    try Files.removeTree(photoFolder)
    try Files.makeFolder(photoFolder)
    for number in 0..<PictureLoading.drawnPhotoCount {
      // Not the pictures of the first store.
      let (pixels, width, height) = Landscape.pixels(1000 + number)
      guard let layout = BitmapLayout(width: width, height: height, format: .rgbx8888) else {
        throw DemoError("a landscape of \(width) by \(height) pixels")
      }
      let bitmap = try Bitmap(layout: layout) { memory in
        for pixel in 0..<width * height {
          for channel in 0..<3 {
            memory.storeBytes(of: pixels[pixel * 3 + channel], toByteOffset: pixel * 4 + channel, as: UInt8.self)
          }
        }
      }
      let bytes = try ImageEncoder.encode(bitmap, as: .jpeg(quality: 0.9))
      try Files.write(bytes, to: photoFolder + "/landscape-\(number < 10 ? "0" : "")\(number).jpg")
    }
    return try Pictures(in: photoFolder)
  }

  /// Serves each photo under its number and name, without `Cache-Control`.
  private static func serve(_ photos: [Photo]) throws -> (server: TestServer, urls: [String]) {
    var files: [String: String] = [:]
    var paths: [String] = []
    for (number, photo) in photos.enumerated() {
      let name = photo.name.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(["-", "_", "."]))
      let path = "/\(number)/\(name ?? "photo")"
      files[path] = photo.path
      paths.append(path)
    }
    let server = try TestServer { [files] request in
      guard let file = files[request.path], let bytes = try? Files.read(file) else { return .status(404) }
      return .init(headers: ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"], body: bytes)
    }
    return (server, paths.map { server.url($0) })
  }

  // MARK: The passes

  private func load(_ all: [String], _ photos: [Photo], _ server: TestServer, _ outcome: inout Outcome) throws {
    let styles = try PictureLoading.styleNames.map { try ImageStyle(name: $0) }
    let budget = max(512 << 20, 2 * outcome.byteCount + (1 << 20) * all.count)
    let store = try CacheStore.open(at: storePath, options: StoreOptions(byteBudget: budget))
    var configuration = PicturePipeline.Configuration(storage: StoreStorage(store))
    configuration.keeps = .both
    let pipeline = PicturePipeline(configuration)

    let first = PicturePass.run(all, styles, through: pipeline)
    outcome.passes.append(("first", first, "from the server, which sees \(server.requests.count) requests"))
    outcome.leftOutCount = first.failures.count
    for (url, photo) in zip(all, photos) where outcome.leftOut.count < 5 {
      if let reason = first.failures[url] { outcome.leftOut.append((photo.name, reason)) }
    }
    let urls = all.filter { first.failures[$0] == nil }
    if urls.isEmpty {
      outcome.failures.append("no photo of \(all.count) could be loaded")
      return try store.close()
    }
    let again = PicturePass.run(urls, styles, through: pipeline)
    outcome.passes.append(("again", again, "from memory"))
    try store.close()

    let asked = server.requests.count
    let apart = try PicturePass.runApart(urls, styles, store: storePath)
    outcome.passes.append(("new process", apart, "from the store, its own memory, ready to draw"))
    let originals = try PicturePass.runApart(urls, [.original], store: storePath)
    outcome.passes.append(("originals", originals, "in a new process, decoded from the store"))

    for (name, pass) in [("second", again), ("third", apart)] {
      if pass.pictureCount != urls.count * styles.count || pass.requestCount > 0 || pass.decodeCount > 0 {
        outcome.failures.append(
          "the \(name) pass has \(pass.pictureCount) pictures, \(pass.requestCount) requests, \(pass.decodeCount) "
            + "decodes"
        )
      }
    }
    if originals.pictureCount != urls.count { outcome.failures.append("not all originals were in the store") }
    if server.requests.count != asked { outcome.failures.append("the new processes asked the server") }
  }

  private func drawSheet(_ outcome: inout Outcome) throws {
    let program = ChildProcess.ownProgram
    guard let slash = program.lastIndex(of: "/") else { return }
    let tool = program[..<slash] + "/cachectl"
    // The tool may not have been built.
    guard Files.exists(String(tool)) else { return }
    let (output, status) = try ChildProcess.run(
      String(tool), ["sheet", storePath, "--output", sheetPath, "--limit", "60"])
    if status == 0 {
      outcome.sheetPath = sheetPath
    } else {
      outcome.failures.append("cachectl sheet ended with status \(status): \(output)")
    }
  }
}
