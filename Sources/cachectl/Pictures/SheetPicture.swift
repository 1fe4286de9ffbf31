#if Images
  import CacheCtlKit
  import Vitrine
  import VitrineImages

  /// One entry of a store, as a contact sheet shows it.
  struct SheetPicture {
    enum Content {
      /// No larger than its room.
      case pixels(Bitmap)
      /// Why there is nothing to see.
      case nothing(String)
    }

    let key: CacheKey
    let content: Content
    /// Its real size, and what it is kept as; what is known of it.
    let details: String

    /// Nil for what is not there any more. `room` is the style that fits a picture into the room it has.
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
