import Vitrine

extension DecodedImage {
  /// Returns the picture drawn in each of `styles`, in their order. Draws all styles with a size in one pass. An
  /// original is the whole picture, upright. Throws ``ImageError``, and errors of free forms.
  package func rendered(_ styles: [ImageStyle]) throws -> [Bitmap] {
    var bitmaps: [ImageStyle: Bitmap] = [:]
    let sized = styles.filter { $0.size != nil }
    try withRows { rows in
      let renderers = try sized.map { try StyleRenderer($0, info, orientation: orientation) }
      for (style, bitmap) in zip(sized, try StyleRenderer.arrays(renderers, rows)) { bitmaps[style] = bitmap }
      if sized.count == styles.count { return }
      let upright = try whole(rows)
      for style in styles where style.size == nil {
        if case .free(let form) = style.shape {
          bitmaps[style] = try form.drawn(upright, scale: style.scale, format: style.format)
        } else {
          bitmaps[style] = upright
        }
      }
    }
    return styles.compactMap { bitmaps[$0] }
  }

  /// Returns the upright picture at the size of its header.
  private func whole(_ rows: PixelRows) throws -> Bitmap {
    let (width, height) = (Double(info.size.width), Double(info.size.height))
    guard info.isVector, size != info.size else { return try Bitmap(upright: rows, orientation) }
    let style = try ImageStyle.rectangle(Points(width), Points(height))
    return try StyleRenderer.bitmaps([StyleRenderer(style, info, orientation: orientation)], rows)[0]
  }

  /// Calls `body` with the pixels in the form that a renderer takes.
  func withRows<R, E: Error>(_ body: (PixelRows) throws(E) -> R) throws(E) -> R {
    try withPixels { pixels throws(E) in
      try body(
        PixelRows(pixels, width: size.width, height: size.height, bytesPerRow: bytesPerRow, hasAlpha: hasAlpha))
    }
  }
}

extension StyleRenderer {
  /// Draws into arrays. A write batch takes them without a copy, so a family's pixels are copied only once, into the
  /// store.
  static func arrays(_ family: [StyleRenderer], _ rows: PixelRows) throws -> [Bitmap] {
    try bitmaps(family, rows) { layout, draw in
      var pixels = [UInt8](repeating: 0, count: layout.byteCount)
      try pixels.withUnsafeMutableBytes { buffer in
        var memory = buffer.mutableBytes
        try draw(&memory)
      }
      return Bitmap(layout: layout, pixels)
    }
  }
}
