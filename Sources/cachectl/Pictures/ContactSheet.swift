import CacheCtlBase
import CacheCtlKit
import Vitrine
import VitrineImages

/// Draws pictures in rows, with a caption below each. Takes 4 bytes of memory for each pixel of the sheet.
struct ContactSheet {
  private enum Color {
    static let paper: UInt32 = 0xFFF7_F7F5
    static let room: UInt32 = 0xFFEA_EAE6
    static let text: UInt32 = 0xFF20_2124
    static let faintText: UInt32 = 0xFF6B_6E73
    static let style: UInt32 = 0xFF1A_5FB4
    static let line: UInt32 = 0xFFD0_D0CB
    static let light: UInt32 = 0xFFFF_FFFF
    static let dark: UInt32 = 0xFFE2_E2DE
    static let bad: UInt32 = 0xFFB3_261E
    static let badRoom: UInt32 = 0xFFFB_ECEA
    static let badLine: UInt32 = 0xFFEE_C4C0
  }

  static let captionLines = 3

  private let layout: SheetLayout
  private var canvas: Canvas

  init(_ layout: SheetLayout, title: String, subtitle: String) {
    self.layout = layout
    canvas = Canvas(width: layout.width, height: layout.height, color: Color.paper)
    let left = SheetLayout.margin
    let letters = layout.headingLetters
    canvas.write(title.shortenedInTheMiddle(to: letters), x: left, y: 14, color: Color.text)
    canvas.write(subtitle.shortened(to: letters), x: left, y: 16 + Canvas.lineHeight, color: Color.faintText)
    canvas.fill(
      x: left, y: SheetLayout.headingHeight + 4, width: layout.width - 2 * left, height: 1, color: Color.line)
  }

  mutating func draw(_ picture: SheetPicture, at index: Int) {
    switch picture.content {
    case .pixels(let bitmap): draw(bitmap, at: index)
    case .nothing(let reason): draw(reason, at: index)
    }
    let lines = [
      (ContactSheet.name(picture.key).shortenedInTheMiddle(to: layout.captionLetters), Color.text),
      (picture.key.style.name.shortened(to: layout.captionLetters), Color.style),
      (picture.details.shortened(to: layout.captionLetters), Color.faintText),
    ]
    for (line, (text, color)) in lines.enumerated() {
      let place = layout.captionPlace(index, line: line)
      canvas.write(text, x: place.x, y: place.y, color: color)
    }
  }

  /// Returns the URL without its scheme.
  private static func name(_ key: CacheKey) -> String {
    let name = printable(key.url)
    for scheme in ["https://", "http://", "file://"] where name.hasPrefix(scheme) {
      return String(name.dropFirst(scheme.count))
    }
    return name
  }

  private mutating func draw(_ bitmap: Bitmap, at index: Int) {
    let place = layout.place(index)
    canvas.fill(
      x: place.x, y: place.y, width: layout.pictureWidth, height: layout.pictureHeight, color: Color.room)
    let x = place.x + (layout.pictureWidth - bitmap.width) / 2
    let y = place.y + (layout.pictureHeight - bitmap.height) / 2
    canvas.checker(x: x, y: y, width: bitmap.width, height: bitmap.height, side: 8, Color.light, Color.dark)
    var line = [UInt32](repeating: 0, count: bitmap.width)
    bitmap.withPixels { pixels in
      for row in 0..<bitmap.height {
        let start = row * bitmap.layout.bytesPerRow
        for column in 0..<bitmap.width {
          line[column] = pixels.unsafeLoadUnaligned(fromByteOffset: start + column * 4, as: UInt32.self)
        }
        canvas.blend(line, x: x, y: y + row)
      }
    }
  }

  private mutating func draw(_ reason: String, at index: Int) {
    let (x, y) = layout.place(index)
    let (width, height) = (layout.pictureWidth, layout.pictureHeight)
    canvas.fill(x: x, y: y, width: width, height: height, color: Color.badRoom)
    canvas.cross(x: x, y: y, width: width, height: height, color: Color.badLine)
    canvas.frame(x: x, y: y, width: width, height: height, color: Color.bad)
    let margin = 8
    let most = max(1, (height - 2 * margin) / Canvas.lineHeight)
    let letters = max(1, (width - 2 * margin) / Canvas.letterWidth)
    let lines = ContactSheet.wrapped(reason, letters).prefix(most)
    let top = y + (height - lines.count * Canvas.lineHeight) / 2
    for (number, line) in lines.enumerated() {
      let length = line.count * Canvas.letterWidth
      let (left, down) = (x + (width - length) / 2, top + number * Canvas.lineHeight)
      canvas.fill(x: left - 3, y: down, width: length + 6, height: Canvas.lineHeight, color: Color.badRoom)
      canvas.write(line, x: left, y: down, color: Color.bad)
    }
  }

  /// Wraps the text at spaces. Words longer than a line are shortened.
  private static func wrapped(_ text: String, _ letters: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in printable(Array(text.utf8)).split(separator: " ") {
      let word = String(word).shortenedInTheMiddle(to: letters)
      if line.isEmpty {
        line = word
      } else if line.count + 1 + word.count <= letters {
        line += " " + word
      } else {
        lines.append(line)
        line = word
      }
    }
    return line.isEmpty ? lines : lines + [line]
  }

  /// Returns the drawn sheet. Throws `outOfMemory`, and `tooLarge` above 65,535 pixels a side.
  func bitmap() throws -> Bitmap {
    guard let layout = BitmapLayout(width: canvas.width, height: canvas.height, format: .bgrx8888) else {
      throw ImageError.tooLarge(width: canvas.width, height: canvas.height, limit: "65535 pixels a side")
    }
    return try Bitmap(layout: layout) { memory in
      memory.withUnsafeMutableBytes { memory in
        canvas.pixels.withUnsafeBytes {
          memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<memory.count]))
        }
      }
    }
  }
}

/// One entry of a store in the form that a contact sheet shows.
struct SheetPicture {
  enum Content {
    /// The picture, no larger than its cell.
    case pixels(Bitmap)
    /// The reason for a missing picture.
    case nothing(String)
  }

  let key: CacheKey
  let content: Content
  /// The size in pixels, the format and the bytes, as far as they are known.
  let details: String

  /// Reads an entry. Returns nil if it is no longer in the store. `room` is the style that fits a picture into its
  /// cell.
  static func read(
    _ key: CacheKey, from reader: inout Reader, room: ImageStyle, _ decoder: ImageDecoder
  ) throws -> (picture: SheetPicture, isDamaged: Bool)? {
    let (blob, reason) = try reader.blob(key)
    guard let blob else {
      guard let reason, reason == .damaged || reason == .lost else { return nil }
      return (SheetPicture(key: key, content: .nothing(reason.text), details: ""), true)
    }
    let size = Quantity.bytes(blob.byteCount)
    do {
      if blob.encoding == .bitmap {
        guard let bitmap = Bitmap(blob) else { throw ImageError.invalidArgument("a bitmap without a layout") }
        let pixels = "\(bitmap.size) \(bitmap.layout.format.name)"
        let limit = decoder.limits.pixelCount
        guard bitmap.width * bitmap.height <= limit else {
          throw ImageError.tooLarge(width: bitmap.width, height: bitmap.height, limit: "\(limit) pixels")
        }
        return (
          SheetPicture(key: key, content: .pixels(try bitmap.rendered(room)), details: "\(pixels), \(size)"), false
        )
      }
      let (bitmap, info) = try blob.withBytes { try decoder.rendered($0, room) }
      let details = "\(info.uprightSize) \(info.format), \(size)"
      return (SheetPicture(key: key, content: .pixels(bitmap), details: details), false)
    } catch let error as ImageError {
      return (SheetPicture(key: key, content: .nothing("\(error)"), details: size), false)
    }
  }
}
