import Vitrine

extension ImageStyle {
  static let largestSide = 16_384
  static let scales: ClosedRange<Points> = Points(0.125)...Points(16)
  static let mostTextBytes = 64

  /// Returns the contradiction between the parts of a style, or nil if they are valid.
  static func contradiction(_ shape: Shape, _ scale: Points, _ format: PixelFormat) -> String? {
    guard scales.contains(scale) else { return "the scale must be \(scales.lowerBound) to \(scales.upperBound)" }
    switch shape {
    case .original:
      if scale != 1 || format != .bgra8888 { return "an original has no scale and no pixel format of its own" }
      return nil
    case .rectangle(let width, let height, _):
      return badSide(width, scale) ?? badSide(height, scale)
    case .roundedRectangle(let width, let height, let radius, let border, _):
      if let reason = badSide(width, scale) ?? badSide(height, scale) { return reason }
      let shorter = min(width, height)
      if radius <= 0 { return "the radius of the corners must be above 0" }
      if radius.thousandths > (shorter.thousandths + 1) / 2 {
        return "the radius of the corners must be at most half of the shorter side"
      }
      if border < 0 || border.thousandths >= (shorter.thousandths + 1) / 2 {
        return "the border must be at least 0 and less than half of the shorter side"
      }
      if !format.hasAlpha { return "rounded corners need alpha, and \(format.name) has none" }
      return nil
    case .free(let form):
      if !(1...mostTextBytes).contains(form.name.utf8.count) {
        return "the name of a free form must have 1 to \(mostTextBytes) bytes"
      }
      if form.parameter.utf8.count > mostTextBytes { return "the parameter must have at most \(mostTextBytes) bytes" }
      if !(0...999_999_999).contains(form.version) { return "the version must be 0 to 999,999,999" }
      return nil
    }
  }

  private static func badSide(_ length: Points, _ scale: Points) -> String? {
    // Compares floating-point numbers before any conversion, since a length can have any value.
    let pixels = length.value * scale.value
    return length > 0 && pixels < Double(largestSide) + 0.5
      ? nil : "each side must be above 0 and at most \(largestSide) pixels"
  }
}

extension PixelFormat {
  var hasAlpha: Bool { self == .bgra8888 || self == .rgba8888 }
}
