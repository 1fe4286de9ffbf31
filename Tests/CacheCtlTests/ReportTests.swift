import Testing
import Vitrine

@testable import CacheCtlKit

@Suite struct BarTests {
  private let bar = Bar(symbols: .ascii, width: 10)

  @Test func aBarIsDividedByShareAndAlwaysAsWide() {
    #expect(bar.text(live: 50, dead: 30, free: 20) == "#####xxx..")
    #expect(bar.text(live: 1, dead: 1, free: 1).count == 10)
    #expect(bar.text(live: 0, dead: 0, free: 7) == "..........")
    #expect(bar.text(live: 0, dead: 0, free: 0) == "          ")
  }

  @Test func nonzeroPartIsNeverInvisible() {
    #expect(bar.text(live: 1, dead: 1, free: 1_000_000) == "#x........")
    #expect(bar.text(live: 1_000_000, dead: 1, free: 0) == "#########x")
  }

  @Test func absurdNumbersDoNotBreakABar() {
    #expect(bar.text(live: .max, dead: .max, free: .max).count == 10)
    #expect(bar.text(live: -5, dead: 0, free: 5) == "..........")
    #expect(bar.text(7, of: 5) == "##########")
    #expect(bar.text(0, of: 0) == "          ")
    #expect(Bar(symbols: .ascii, width: 1).text(live: 1, dead: 1, free: 1).count == 1)
  }
}

@Suite struct QuantityTests {
  @Test(arguments: [
    (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (41_240, "41.2 kB"), (999_949, "999.9 kB"),
    (999_950, "1.0 MB"),
    (2_147_483_648, "2.1 GB"), (Int.max, "9.2 EB"), (-3, "-3 B"),
  ])
  func bytesAreShownInPowersOfAThousand(_ count: Int, _ text: String) {
    #expect(Quantity.bytes(count) == text)
  }

  @Test func countsAreGroupedByThousands() {
    #expect(Quantity.count(0) == "0")
    #expect(Quantity.count(1_234_567) == "1,234,567")
    #expect(Quantity.count(-1234) == "-1,234")
    #expect(Quantity.count(1, "key", "keys") == "1 key")
    #expect(Quantity.count(0, "key", "keys") == "0 keys")
  }

  @Test(arguments: [
    (85.4, "85 ns"), (999.6, "1.0 us"), (1240, "1.2 us"), (999_960, "1.0 ms"), (3_140_000, "3.1 ms"),
    (2.5e9, "2.5 s"),
  ])
  func timesAreShownInTheUnitThatFits(_ nanoseconds: Double, _ text: String) {
    #expect(Quantity.nanoseconds(nanoseconds) == text)
  }

  @Test(arguments: [
    (0, "0 s"), (45, "45 s"), (59, "59 s"), (60, "1 min"), (256, "4.3 min"), (3599, "1 h"), (3600, "1 h"),
    (86_399, "1 day"), (86_400, "1 day"),
    (262_144, "3 days"), (67_108_864, "2.1 years"), (Int.max, "292471208677.5 years"),
  ])
  func durationsAreShownInTheUnitThatFits(_ seconds: Int, _ text: String) {
    #expect(Quantity.duration(seconds: seconds) == text)
  }

  @Test func decimalsAreRoundedAndNeverTrap() {
    #expect(Quantity.fixed(0.05, places: 1) == "0.1")
    #expect(Quantity.fixed(-0.25, places: 2) == "-0.25")
    #expect(Quantity.fixed(1.999, places: 2) == "2.00")
    #expect(Quantity.fixed(.infinity, places: 2) == "inf")
    #expect(Quantity.percent(1, of: 0) == "-")
    #expect(Quantity.percent(19, of: 100) == "19 %")
  }
}

@Suite struct TableTests {
  @Test func columnsAreAsWideAsTheirWidestCellAndLinesEndInNoSpace() {
    var table = Table([.left, .right, .left])
    table.add(["a", "1", "x"])
    table.add(["long", "1000"])
    #expect(table.text(indentation: " ") == " a        1  x\n long  1000\n")
  }
}

@Suite struct SizeHistogramTests {
  @Test func sizeFallsIntoTheClassWithTheNextBound() {
    var histogram = SizeHistogram()
    for size in [0, 1023, 1024, 4095, 65_536, .max] { histogram.add(size) }
    let classes = histogram.classes
    #expect(classes.first == .init(upperBound: 1024, count: 2))
    #expect(classes[1] == .init(upperBound: 4096, count: 2))
    #expect(classes.last == .init(upperBound: .max, count: 1))
    #expect(classes.reduce(0) { $0 + $1.count } == 6)
    #expect(classes.map(\.name).prefix(2) == ["< 1 KiB", "< 4 KiB"])
    #expect(SizeHistogram().classes.isEmpty)
  }
}

@Suite struct AgeHistogramTests {
  @Test func ageFallsIntoTheClassWithTheNextBound() {
    var histogram = AgeHistogram()
    let minute: Int64 = 60_000
    for age in [-5, 0, minute - 1, minute, 24 * 60 * minute, 30 * 24 * 60 * minute, .max, .min] {
      histogram.add(ageMilliseconds: age, byteCount: 10)
    }
    histogram.add(ageMilliseconds: nil, byteCount: 7)
    #expect(histogram.classes.map(\.entryCount) == [4, 1, 0, 0, 1, 0, 2])
    #expect(histogram.classes.map(\.byteCount) == [40, 10, 0, 0, 10, 0, 20])
    #expect(histogram.unknown.entryCount == 1 && histogram.unknown.byteCount == 7)
  }
}

@Suite struct MedianTests {
  @Test func medianIgnoresTheOrder() {
    #expect(median([9, 1, 5]) == 5)
    #expect(median([4, 1, 2, 3]) == 2.5)
    #expect(median([]) == 0)
  }
}

@Suite struct PrintableTests {
  @Test func nothingStoredCanMoveTheCursor() {
    #expect(printable(Array("a\u{1B}[2J\n\u{7F}".utf8)) == #"a\x1b[2J\x0a\x7f"#)
    #expect(printable(Array("\u{9B}2J\u{202E}".utf8)) == #"\xc2\x9b2J\xe2\x80\xae"#)
  }

  @Test func printableKeepsTextAndEscapesOtherBytes() {
    #expect(printable(Array("Füße 世界 🖼.jpg".utf8)) == "Füße 世界 🖼.jpg")
    #expect(printable([0x41, 0xFF, 0xC3]) == #"A\xff\xc3"#)
    #expect(printable(Array(#"a\xff"#.utf8)) == #"a\\xff"#)
  }
}
