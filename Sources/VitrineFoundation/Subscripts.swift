import Foundation
import Vitrine

// A subscript cannot throw when it is set. After a set that failed, the key has no value, so no read returns an older
// one. A program that needs the error calls `put` or `remove`.

extension CacheStore {
  /// The value of a whole key; nil on a miss.
  ///
  /// A read costs a get and a copy. Setting a value puts it with the default options. Setting nil removes the entry. An
  /// error is not reported: after it, the key has no value in this store object. Thread-safe.
  public subscript(key: CacheKey) -> Data? {
    get { data(key) }
    set {
      do throws(StoreError) {
        if let newValue { try put(newValue, for: key) } else { try remove(key) }
      } catch {
        // An older value must not be returned in place of this one.
        if newValue != nil { _ = try? remove(key) }
        conceal(key)
      }
    }
  }

  /// The value of a URL in a style; nil on a miss. Set as the subscript by a whole key.
  public subscript(url: URL, style: Style = .original) -> Data? {
    get { data(url, style: style) }
    set { self[CacheKey(url, style)] = newValue }
  }

  /// The value of a URL in text and a style; nil on a miss. Set as the subscript by a whole key.
  public subscript(url: String, style: Style = .original) -> Data? {
    get { data(url, style: style) }
    set { self[CacheKey(url, style)] = newValue }
  }
}
