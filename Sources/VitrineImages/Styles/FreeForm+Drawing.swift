import Vitrine

extension FreeForm {
  /// What the form makes of an upright picture in `BGRA8888`, in the style's format. Throws `noTransform` where nobody has
  /// said how it is drawn, what `draw` throws, and `outOfMemory`.
  func drawn(_ picture: Bitmap, scale: Points, format: PixelFormat) throws -> Bitmap {
    guard let draw else { throw ImageError.noTransform(name: name, version: version) }
    let context = Context(parameter: parameter, scale: scale.value, format: format)
    return try draw(picture, context).converted(to: format)
  }
}
