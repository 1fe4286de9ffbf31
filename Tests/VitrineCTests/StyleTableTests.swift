import Foundation
import Testing
import Vitrine

@testable import VitrineC

@Suite struct StyleTableTests {
  private func find(_ table: StyleTable, _ name: String) -> String? {
    Array(name.utf8).withUnsafeBytes { table.find($0)?.takeUnretainedValue().style.name }
  }

  @Test func aStyleIsFoundAgainAsTheSameObject() {
    let table = StyleTable()
    for name in ["a", "original", "square-60@2x", String(repeating: "x", count: 255)] {
      #expect(find(table, name) == name)
      Array(name.utf8).withUnsafeBytes { text in
        #expect(table.find(text)?.toOpaque() == table.find(text)?.toOpaque())
      }
    }
  }

  @Test func invalidStylesAreNotAdded() {
    let table = StyleTable()
    for name in ["", " ", "a b", "é", String(repeating: "x", count: 256)] { #expect(find(table, name) == nil) }
  }

  /// Styles with the same hash fill the slots of that hash. The table never returns another style.
  @Test func collidingStylesAreDistinguished() {
    let table = StyleTable()
    let names = (0..<100).map { "12345678-\(100 + $0)-87654321" }
    let found = names.map { find(table, $0) }
    #expect(found.prefix(8).allSatisfy { $0 != nil } && found.contains(nil))
    for (name, style) in zip(names, found) where style != nil { #expect(style == name) }
  }

  @Test func aFullTableKeepsItsStyles() {
    let table = StyleTable()
    let found = (0..<1000).filter { find(table, "style-\($0)") != nil }
    #expect(found.count <= StyleTable.mostStyles && found.count > StyleTable.mostStyles / 2)
    for index in found { #expect(find(table, "style-\(index)") == "style-\(index)") }
  }

  @Test func threadsThatAddStylesFindThem() throws {
    let store = try TestStore()
    for index in 0..<200 { #expect(store.put([UInt8(index)], "u", style: "style-\(index)") == 0) }
    let handle = UInt(bitPattern: store.handle)
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for step in 0..<400 {
        let index = (step + thread * 25) % 200
        let style = "style-\(index)"
        var seen: UInt8 = 0
        let status = borrowByte(OpaquePointer(bitPattern: handle), "u", style, &seen)
        #expect(status == 0 && seen == UInt8(index))
      }
    }
  }
}

/// Borrows an entry and copies its first byte.
private func borrowByte(
  _ store: OpaquePointer?, _ url: String, _ style: String, _ byte: inout UInt8
) -> Int32 {
  withUnsafeMutablePointer(to: &byte) { byte in
    borrow(
      store, url, url.utf8.count, style, style.utf8.count,
      { context, bytes, _ in context!.copyMemory(from: bytes!, byteCount: 1) }, byte)
  }
}
