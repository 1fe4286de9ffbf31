import CacheCtlBase
import CacheCtlKit
import Vitrine
import VitrineImages

package enum SheetCommand: Command {
  private static let output = Option(
    "output", value: "FILE", "the file to write; its name ends in .png, .jpg or .webp (sheet.png)")
  private static let limit = Option("limit", value: "N", "show at most N (200)")
  private static let side = Option("size", value: "PIXELS", "the largest width of a picture, 64 to 1024 (176)")

  package static let specification = CommandSpecification(
    name: "sheet", summary: "draw the content of a store as one picture",
    positionals: [.required("STORE")],
    options: [
      output, Option("style", value: "S", "only keys of this style"), .prefix, limit, side, .mostPixels, .reads,
      .json,
    ],
    notes: [
      "A contact sheet: pictures and bitmaps in rows, the most recently used first. Under each are its URL "
        + "(shortened), its style, its size in pixels, its format and its bytes. Pictures larger than their cell are "
        + "scaled down, others are shown pixel by pixel. Transparent parts show a checkerboard. An entry that is not "
        + "a picture, or cannot be decoded, is a marked box with the reason. Works while another process writes. "
        + "FILE is overwritten.",
      "The exit status is 1 if an entry is damaged or lost. An entry that is not a picture does not change it.",
      "With --json: file, width, height, shown, entries (of that style and prefix), not_decoded, damaged.",
    ],
    examples: [
      .init("cachectl sheet photos.cache", "what does it look like?"),
      .init(
        "cachectl sheet photos.cache --style square-100 --output squares.png", "only the thumbnails"),
    ])

  /// A larger sheet would not be practical to view.
  private static let mostPixels = 120_000_000

  private struct Tally {
    var shownCount = 0
    var undecodedCount = 0
    var damagedCount = 0
  }

  package static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    let file = try PictureFile(self.output, arguments)
    let target = try file ?? PictureFile(path: Array("sheet.png".utf8), self.output, arguments)
    let style = try arguments.style(.style)
    let prefix = arguments.value(.prefix) ?? []
    let most = try arguments.count(limit) ?? 200
    guard most > 0 else { throw arguments.fail("--limit must be at least 1") }
    let side = try arguments.count(side) ?? 176
    guard (64...1024).contains(side) else { throw arguments.fail("--size must be 64 to 1024") }

    // A single picture must not delay the sheet for long.
    let decoder = ImageDecoder.ofThisTool(limits: try arguments.decodingLimits(milliseconds: 3000))
    return try Stores.read(arguments) { store in
      // Digest notes of originals that are not stored are not pictures.
      let keys = try store.keysByRecency().filter {
        $0.style != StoreStorage.originalNote && (style == nil || $0.style == style) && $0.url.starts(with: prefix)
      }
      let layout = SheetLayout(count: min(most, keys.count), side: side, captionLines: ContactSheet.captionLines)
      let (pixels, isTooMany) = layout.width.multipliedReportingOverflow(by: layout.height)
      guard !isTooMany, pixels <= mostPixels, layout.height <= 65_000 else {
        throw arguments.fail("a sheet of so many pictures is too large; a smaller --limit or --size helps")
      }
      var tally = Tally()
      let pictures = try pictures(keys, most, layout, store, decoder, &tally)
      var sheet = ContactSheet(
        SheetLayout(count: pictures.count, side: side, captionLines: ContactSheet.captionLines),
        title: printable(Array(store.path.utf8)), subtitle: subtitle(pictures.count, keys.count, style))
      for (index, picture) in pictures.enumerated() { sheet.draw(picture, at: index) }
      let bitmap = try sheet.bitmap()
      try target.write(bitmap)
      if arguments.has(.json) {
        try output.write(json(target, bitmap, tally, keys.count))
      } else {
        try output.write(text(target, bitmap, tally, keys.count))
      }
      return tally.damagedCount == 0 ? .done : .problemFound
    }
  }

  private static func pictures(
    _ keys: [CacheKey], _ most: Int, _ layout: SheetLayout, _ store: CacheStore, _ decoder: ImageDecoder,
    _ tally: inout Tally
  ) throws -> [SheetPicture] {
    let room = try ImageStyle.rectangle(
      Points(Double(layout.pictureWidth)), Points(Double(layout.pictureHeight)), mode: .fit)
    var reader = Reader(store)
    var pictures: [SheetPicture] = []
    let progress = Progress("sheet")
    for key in keys {
      if pictures.count == most { break }
      progress.show(pictures.count, of: min(most, keys.count))
      guard let (picture, isDamaged) = try SheetPicture.read(key, from: &reader, room: room, decoder) else {
        continue
      }
      pictures.append(picture)
      if isDamaged {
        tally.damagedCount += 1
      } else if case .nothing = picture.content {
        tally.undecodedCount += 1
      }
    }
    progress.clear()
    tally.shownCount = pictures.count
    return pictures
  }

  private static func subtitle(_ shown: Int, _ all: Int, _ style: Style?) -> String {
    let entries = Quantity.count(all, "entry", "entries") + (style.map { " in the style \($0.name)" } ?? "")
    if all == 0 { return "no \(style == nil ? "entries" : String(entries.dropFirst(2)))" }
    return (shown < all ? "\(Quantity.count(shown)) of " : "") + entries + ", used last first"
  }

  private static func text(_ file: PictureFile, _ bitmap: Bitmap, _ tally: Tally, _ all: Int) -> String {
    var text = "\(printable(file.path)): \(Quantity.count(tally.shownCount)) of "
    text += "\(Quantity.count(all, "entry", "entries")), \(bitmap.size) pixels\n"
    if tally.undecodedCount > 0 {
      text += "\(Quantity.count(tally.undecodedCount)) of them cannot be decoded as pictures\n"
    }
    if tally.damagedCount > 0 { text += "\(Quantity.count(tally.damagedCount)) of them damaged or lost\n" }
    return text
  }

  private static func json(_ file: PictureFile, _ bitmap: Bitmap, _ tally: Tally, _ all: Int) -> JSON {
    .object([
      ("file", .string(String(decoding: file.path, as: UTF8.self))), ("width", .int(bitmap.width)),
      ("height", .int(bitmap.height)), ("shown", .int(tally.shownCount)), ("entries", .int(all)),
      ("not_decoded", .int(tally.undecodedCount)), ("damaged", .int(tally.damagedCount)),
    ])
  }
}
