import Vitrine
import VitrineClient

// The example of Docs/Serving.md, word for word, so that it compiles as long as the library does. `DocumentationTests`
// compares it; this function is never called.

private func sharing(bytes: [UInt8], decode: (RawSpan) -> Void) throws {
  let client = CacheClient(path: "/run/photos.sock")
  try client.put(bytes, for: "https://example.org/a.jpg")
  if let value = try client.value("https://example.org/a.jpg") {
    value.withBytes { decode($0) }
  }
}
