import Vitrine

extension ImageStyle {
  static let largestSide = 16_384
  static let scales: ClosedRange<Points> = Points(0.125)...Points(16)
  static let mostTextBytes = 64

  /// Returns the contradiction between the parts of a style, or nil if they are valid.
  static func contradiction(_ shape: Shape, _ scale: Points, _ format: PixelFormat) -> String? {
    guard scales.contains(scale) else { return "a scale is \(scales.lowerBound) to \(scales.upperBound)" }
    switch shape {
    case .original:
      if scale != 1 || format != .bgra8888 { return "an original has no scale and no pixel format of its own" }
      return nil
    case .rectangle(let width, let height, _):
      return badSide(width, scale) ?? badSide(height, scale)
    case .roundedRectangle(let width, let height, let radius, let border, _):
      if let reason = badSide(width, scale) ?? badSide(height, scale) { return reason }
      let shorter = min(width, height)
      if radius <= 0 { return "a corner's radius is above 0; without one it is a rectangle" }
      if radius.thousandths > (shorter.thousandths + 1) / 2 {
        return "a corner's radius is at most half of the shorter side"
      }
      if border < 0 || border.thousandths >= (shorter.thousandths + 1) / 2 {
        return "its border leaves nothing inside"
      }
      if !format.hasAlpha { return "corners need a pixel format with alpha, which \(format.name) has not" }
      return nil
    case .free(let form):
      if !(1...mostTextBytes).contains(form.name.utf8.count) {
        return "a free form's name has 1 to \(mostTextBytes) bytes"
      }
      if form.parameter.utf8.count > mostTextBytes { return "a parameter has up to \(mostTextBytes) bytes" }
      if !(0...999_999_999).contains(form.version) { return "a version is 0 to 999,999,999" }
      return nil
    }
  }

  private static func badSide(_ length: Points, _ scale: Points) -> String? {
    // Compares floating-point numbers before any conversion, since a length can have any value.
    let pixels = length.value * scale.value
    return length > 0 && pixels < Double(largestSide) + 0.5
      ? nil : "a side is above 0 and at most \(largestSide) pixels"
  }
}

extension PixelFormat {
  var hasAlpha: Bool { self == .bgra8888 || self == .rgba8888 }
}
