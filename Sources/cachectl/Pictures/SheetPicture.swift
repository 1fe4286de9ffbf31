#if Images
  import CacheCtlKit
  import Vitrine
  import VitrineImages

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
#endif
