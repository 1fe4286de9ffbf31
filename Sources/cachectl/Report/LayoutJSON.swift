import CacheCtlKit
import Vitrine

extension JSON {
  static func layout(_ layout: BitmapLayout) -> JSON {
    .object([
      ("width", .int(layout.width)), ("height", .int(layout.height)),
      ("bytes_per_row", .int(layout.bytesPerRow)),
      ("format", .string(layout.format.name)),
    ])
  }
}
