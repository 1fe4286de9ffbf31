import Vitrine

extension FreeForm {
  /// Returns the form drawn from an upright picture in `BGRA8888`, converted to the style's format. Throws
  /// `noTransform` if the form has no `draw` closure, errors of `draw`, and `outOfMemory`.
  func drawn(_ picture: Bitmap, scale: Points, format: PixelFormat) throws -> Bitmap {
    guard let draw else { throw ImageError.noTransform(name: name, version: version) }
    let context = Context(parameter: parameter, scale: scale.value, format: format)
    return try draw(picture, context).converted(to: format)
  }
}
