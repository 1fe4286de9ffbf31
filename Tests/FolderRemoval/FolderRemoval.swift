import Foundation

extension FileManager {
  /// Removes the folder at `path`, also while an open store makes files in it.
  ///
  /// A file that appears behind the walk keeps its folder from being removed, so the removal begins again until
  /// the folder is gone. Throws the last error after 1,000 attempts.
  package func removeFolderInUse(atPath path: String) throws {
    for _ in 1..<1000 {
      if (try? removeItem(atPath: path)) != nil || !fileExists(atPath: path) { return }
      Thread.sleep(forTimeInterval: 0.01)
    }
    try removeItem(atPath: path)
  }
}
