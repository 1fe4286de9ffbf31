/// A dump of a store, a debugger and the report of a failed test show its path, not the engine behind it.
extension CacheStore: CustomReflectable {
  /// The path of the store's folder. O(1).
  public var customMirror: Mirror { Mirror(self, children: ["path": path], displayStyle: .class) }
}

/// A dump of a Blob shows its properties, not the mapped segment that it holds.
extension Blob: CustomReflectable {
  /// The public properties besides the bytes of the value. O(1).
  public var customMirror: Mirror {
    Mirror(
      self,
      children: ["byteCount": byteCount, "encoding": encoding, "layout": layout as Any, "metadata": metadata],
      displayStyle: .class)
  }
}

/// A dump of a writer shows the declared length of its body, not the store that it writes to.
extension BodyWriter: CustomReflectable {
  /// The declared length of the body. O(1).
  public var customMirror: Mirror { Mirror(self, children: ["length": length as Any], displayStyle: .class) }
}
