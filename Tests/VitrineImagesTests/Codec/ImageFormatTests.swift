import PictureFiles
import Testing
import VitrineImages

@Suite struct ImageFormatTests {
  @Test(arguments: [ImageFormat.jpeg, .png, .webp])
  func formatIsRecognizedByItsFirstBytes(_ format: ImageFormat) throws {
    let encoding: ImageEncoder.Encoding = [.jpeg: .jpeg(), .png: .png, .webp: .webp()][format]!
    let bytes = try ImageEncoder.encode(.gradient(4, 4), as: encoding)
    #expect(try ImageFormat(of: bytes.span.bytes) == format)
    #expect(try ImageDecoder().info(of: bytes).format == format)
    #expect(format.mimeType.hasPrefix("image/"))
  }

  @Test(arguments: [
    ("", "no bytes"), ("GIF88a......", "GIF"), ("GIF8.", "GIF"), ("BM..............", "BMP"),
    ("\0\0\0\u{18}ftypmif1....", "HEIC"),
    ("\0\0\0\u{18}ftypmp42....", "ISO media of the brand mp42"), ("\0\0\0\u{0C}jP  \r\n", "JPEG 2000"),
    ("<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG"), ("<?xml version='1.0'?>\n<svg>", "SVG"),
    ("<?xml version='1.0'?><rss>", "XML"), ("\n <!DOCTYPE html><html>", "HTML"),
    ("\u{FEFF}<html lang='en'>", "HTML"), ("{\"error\": 404}", "JSON"), ("404 not found", "text"),
    ("\u{1}\u{2}\u{3}", "3 bytes that begin with 01 02 03"),
  ])
  func unsupportedFormatIsNamedInTheError(_ text: String, _ name: String) {
    let bytes = Array(text.utf8)
    #expect(throws: ImageError.unsupportedFormat(found: name)) { try ImageDecoder().decode(bytes) }
    #expect(throws: ImageError.unsupportedFormat(found: name)) { try ImageDecoder().info(of: bytes) }
  }

  @Test func unknownBytesAreNamedByTheirBeginning() {
    let bytes: [UInt8] = [0xFF, 0xD8, 0x00, 0x10, 0x4A, 0x46, 0x49, 0x46, 0x00]
    #expect(throws: ImageError.unsupportedFormat(found: "9 bytes that begin with FF D8 00 10 4A 46 49 46")) {
      try ImageDecoder().decode(bytes)
    }
  }
}
