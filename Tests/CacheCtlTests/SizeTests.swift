import CacheCtlKit
import Testing

@Suite struct SizeTests {
  @Test(arguments: [
    ("0", 0), ("1048576", 1_048_576), ("500MB", 500_000_000), ("2GiB", 1 << 31), ("64KiB", 65_536),
    ("64kib", 65_536),
    ("1.5GB", 1_500_000_000), ("0.5KiB", 512), ("1.0005kB", 1000), ("7B", 7),
    ("9223372036854775807", Int.max),
    ("1.999999999TiB", 2_199_023_254_452),
  ])
  func aSizeIsReadInAnyOfItsUnits(_ text: String, _ byteCount: Int) {
    #expect(Size.parse(text) == byteCount)
  }

  @Test(arguments: [
    "", "B", "MB", "5M", "5 MB", "-1", "+1", "1.5", "1.5.5MB", ".5MB", "5.MB", "0x10", "1e6", "５MB",
    "1.0000000001GB",
    "9223372036854775808", "9999999TiB", "8388608TiB", "MB5", "5MBs", "\u{0}",
  ])
  func invalidOrTooLargeSizeIsRefused(_ text: String) {
    #expect(Size.parse(text) == nil)
  }
}
