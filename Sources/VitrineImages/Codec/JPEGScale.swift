/// The decoding scales of libjpeg. It leaves out frequencies, so a smaller scale is faster.
struct JPEGScale {
  let eighths: UInt32

  static let full = JPEGScale(eighths: 8)

  init(eighths: UInt32) { self.eighths = eighths }

  /// Selects the smallest scale that gives at least `wanted`, the size of the upright picture in pixels.
  init(of info: ImageInfo, atLeast wanted: PixelSize?) {
    guard let wanted = wanted.map(info.orientation.applied) else {
      self = .full
      return
    }
    self =
      (1...8).lazy.map { JPEGScale(eighths: $0) }.first { scale in
        let size = scale.applied(to: info.size)
        return size.width >= wanted.width && size.height >= wanted.height
      } ?? .full
  }

  func applied(to size: PixelSize) -> PixelSize {
    func scaled(_ side: Int) -> Int { (side * Int(eighths) + 7) / 8 }
    return PixelSize(width: scaled(size.width), height: scaled(size.height))
  }
}
