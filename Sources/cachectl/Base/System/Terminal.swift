import CacheCtlKit
import Glibc

/// The capabilities of the terminal.
package enum Terminal {
  /// Blocks where the locale says UTF-8, else ASCII.
  package static var symbols: Bar.Symbols {
    for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
      guard let value = getenv(name), value.pointee != 0 else { continue }
      let locale = String(cString: value).lowercased()
      return locale.contains("utf-8") || locale.contains("utf8") ? .blocks : .ascii
    }
    return .ascii
  }
}
