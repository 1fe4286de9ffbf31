import Testing

@testable import CacheCtlKit

/// Drawing a contact sheet.
@Suite struct CanvasTests {
  private let white: UInt32 = 0xFFFF_FFFF
  private let black: UInt32 = 0xFF00_0000

  private func rows(_ canvas: Canvas) -> [String] {
    (0..<canvas.height).map { y in
      String((0..<canvas.width).map { canvas.pixel(x: $0, y: y) == black ? "#" : "." })
    }
  }

  @Test func lettersMatchTheFont() {
    var canvas = Canvas(width: 12, height: 13, color: white)
    canvas.write("Ap", x: 0, y: 0, color: black)
    #expect(
      rows(canvas) == [
        "............", "............", "..#.........", ".#.#........", "#...#.......", "#...#.####..", "#...#.#...#.",
        "#####.#...#.", "#...#.#...#.", "#...#.####..", "#...#.#.....", "......#.....", "......#.....",
      ])
  }

  @Test func onlyMissingLettersAreDrawnAsBoxes() {
    func drawn(_ text: String) -> [String] {
      var canvas = Canvas(width: 6, height: 13, color: white)
      canvas.write(text, x: 0, y: 0, color: black)
      return rows(canvas)
    }
    let box = drawn("\u{4E2D}")
    #expect(box == drawn("€") && box.joined().contains("#"))
    for code in Array(0x21...0x7E) + Array(0xA1...0xFF) {
      let letter = drawn(String(Unicode.Scalar(UInt32(code))!))
      #expect(letter != box && letter.joined().contains("#"), "\(code)")
    }
    #expect(!drawn(" ").joined().contains("#") && drawn("…") != box)
  }

  @Test func drawingIsClippedToTheEdges() {
    var canvas = Canvas(width: 4, height: 3, color: white)
    canvas.fill(x: -5, y: 1, width: 7, height: 1, color: black)
    canvas.fill(x: 3, y: -9, width: 90, height: 10, color: black)
    canvas.blend([black, black, black], x: 2, y: 2)
    canvas.blend([black], x: 0, y: -1)
    canvas.blend([black], x: -1, y: 0)
    canvas.write("W", x: 100, y: 100, color: black)
    canvas.fill(x: 0, y: 0, width: -1, height: 5, color: black)
    #expect(rows(canvas) == ["...#", "##..", "..##"])
  }

  @Test func transparentPixelsShowThePixelsBelow() {
    var canvas = Canvas(width: 4, height: 1, color: 0xFF64_C832)
    canvas.blend([0, 0x8080_0000, 0xFF01_0203, 0x00FF_FFFF], x: 0, y: 0)
    #expect(canvas.pixels == [0xFF64_C832, 0xFFB2_6419, 0xFF01_0203, 0xFFFF_FFFF])
  }

  @Test func cellsOfASheetLieInsideOfItAndApart() {
    for count in [0, 1, 2, 5, 6, 7, 200] {
      for side in [64, 176, 500, 1024] {
        let layout = SheetLayout(count: count, side: side, captionLines: 3)
        #expect(layout.width >= side && layout.rows * layout.columns >= count)
        for index in 0..<count {
          let place = layout.place(index)
          let end = layout.captionPlace(index, line: 3).y
          #expect(place.x >= 0 && place.x + side <= layout.width && place.y >= SheetLayout.headingHeight)
          #expect(end <= layout.height && end > place.y + layout.pictureHeight)
          if index >= layout.columns {
            #expect(layout.captionPlace(index - layout.columns, line: 3).y <= place.y)
          }
          if index % layout.columns > 0 { #expect(layout.place(index - 1).x + side < place.x) }
        }
      }
    }
  }

  @Test func aLongNameKeepsItsEnd() {
    #expect("example.org/a.jpg".shortenedInTheMiddle(to: 17) == "example.org/a.jpg")
    #expect("example.org/some/path/a.jpg".shortenedInTheMiddle(to: 10) == "exa…/a.jpg")
    #expect("abcdef".shortenedInTheMiddle(to: 2) == "ef" && "abc".shortenedInTheMiddle(to: 0) == "")
  }
}
