import Foundation
import Vitrine

extension ImageStyle {
  // MARK: Writing

  static func name(_ shape: Shape, _ scale: Points, _ format: PixelFormat) -> String {
    func fit(_ mode: ContentMode) -> String { mode == .fit ? "-fit" : "" }
    var name =
      switch shape {
      case .original: "original"
      case .rectangle(let width, let height, let mode) where width == height: "square-\(width)\(fit(mode))"
      case .rectangle(let width, let height, let mode): "rectangle-\(width)x\(height)\(fit(mode))"
      case .roundedRectangle(let width, let height, let radius, let border, let mode):
        "rounded-\(width)x\(height)-r\(radius)\(border == 0 ? "" : "-b\(border)")\(fit(mode))"
      case .free(let form):
        "free-\(escaped(form.name)).v\(form.version)\(form.parameter.isEmpty ? "" : "-\(escaped(form.parameter))")"
      }
    if scale != 1 { name += "@\(scale)x" }
    if format != .bgra8888 { name += ":\(format.name)" }
    return name
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  private static func escaped(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      if isPlain(byte) {
        bytes.append(byte)
      } else {
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  // MARK: Reading

  /// Creates the style of a canonical name. `draw` returns the closure for the name and version of a free form.
  /// Without a closure the style can be looked up, but not drawn. Throws `invalidStyle`; if the name is another
  /// spelling of a style, the error contains the canonical one.
  public init(name: String, draw: (_ name: String, _ version: Int) -> FreeForm.Draw? = { _, _ in nil })
    throws(ImageError)
  {
    guard name.utf8.count <= 255, let parts = ImageStyle.parts(of: name, draw) else {
      throw .invalidStyle(name, reason: "it is not spelled like square-60@2x or rounded-60x60-r30")
    }
    let style = try ImageStyle(parts.shape, scale: parts.scale, format: parts.format)
    guard style.name.utf8.elementsEqual(name.utf8) else {
      throw .invalidStyle(name, reason: "it is spelled \(style.name)")
    }
    self = style
  }

  private static func parts(
    of name: String, _ draw: (String, Int) -> FreeForm.Draw?
  ) -> (shape: Shape, scale: Points, format: PixelFormat)? {
    var rest = name[...]
    var format = PixelFormat.bgra8888
    if let colon = rest.lastIndex(of: ":") {
      let text = rest[rest.index(after: colon)...]
      guard let found = PixelFormat.allCases.first(where: { $0.name == text }) else { return nil }
      format = found
      rest = rest[..<colon]
    }
    var scale: Points = 1
    if let at = rest.lastIndex(of: "@") {
      guard rest.hasSuffix("x"), let found = number(rest[rest.index(after: at)...].dropLast()) else { return nil }
      scale = found
      rest = rest[..<at]
    }
    return shape(rest, draw).map { ($0, scale, format) }
  }

  private static func shape(_ text: Substring, _ draw: (String, Int) -> FreeForm.Draw?) -> Shape? {
    if text == "original" { return .original }
    guard let dash = text.firstIndex(of: "-") else { return nil }
    var parts = text[text.index(after: dash)...].split(separator: "-", omittingEmptySubsequences: false)
    if text[..<dash] == "free" { return free(parts, draw).map { .free($0) } }
    let mode: ContentMode = parts.last == "fit" ? .fit : .fill
    if mode == .fit { parts.removeLast() }
    guard let first = parts.first else { return nil }
    let sides = first.split(separator: "x", omittingEmptySubsequences: false).map(number)
    switch (text[..<dash], sides.count, parts.count) {
    case ("square", 1, 1):
      guard let side = sides[0] else { return nil }
      return .rectangle(width: side, height: side, mode: mode)
    case ("rectangle", 2, 1):
      guard let width = sides[0], let height = sides[1] else { return nil }
      return .rectangle(width: width, height: height, mode: mode)
    case ("rounded", 2, 2...3):
      guard let width = sides[0], let height = sides[1], parts[1].hasPrefix("r"),
        let radius = number(parts[1].dropFirst())
      else { return nil }
      var border: Points = 0
      if parts.count == 3 {
        guard parts[2].hasPrefix("b"), let found = number(parts[2].dropFirst()) else { return nil }
        border = found
      }
      return .roundedRectangle(width: width, height: height, cornerRadius: radius, borderWidth: border, mode: mode)
    default: return nil
    }
  }

  private static func free(_ parts: [Substring], _ draw: (String, Int) -> FreeForm.Draw?) -> FreeForm? {
    guard (1...2).contains(parts.count), let dot = parts[0].range(of: ".v"),
      let name = unescaped(parts[0][..<dot.lowerBound]),
      let version = number(parts[0][dot.upperBound...]), version.thousandths % 1000 == 0
    else { return nil }
    var parameter = ""
    if parts.count == 2 {
      guard let found = unescaped(parts[1]) else { return nil }
      parameter = found
    }
    let number = version.thousandths / 1000
    return FreeForm(name, version: number, parameter: parameter, draw: draw(name, number))
  }

  private static func number(_ text: Substring) -> Points? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), (1...12).contains(parts[0].utf8.count), isDigits(parts[0]),
      let whole = Int(parts[0])
    else { return nil }
    if parts.count == 1 { return Points(thousandths: whole * 1000) }
    guard (1...3).contains(parts[1].utf8.count), isDigits(parts[1]), let fraction = Int(parts[1]) else { return nil }
    return Points(thousandths: whole * 1000 + fraction * [100, 10, 1][parts[1].utf8.count - 1])
  }

  private static func isDigits(_ text: Substring) -> Bool { text.utf8.allSatisfy { (48...57).contains($0) } }

  private static func unescaped(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte != UInt8(ascii: "%") {
        guard isPlain(byte) else { return nil }
        bytes.append(byte)
        continue
      }
      guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
        return nil
      }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
