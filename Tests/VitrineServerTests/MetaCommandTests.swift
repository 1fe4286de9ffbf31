import Testing
import Vitrine

@testable import VitrineServer

struct MetaCommandTests {
  @Test func flagsAskForProperties() throws {
    let client = try Conversation()
    #expect(client.send("ms a 2 F7 T100000\r\nhi\r\n") == "HD\r\n")
    #expect(client.send("mg a\r\n") == "HD\r\n")
    #expect(client.send("mg a s f t v\r\n") == "VA 2 s2 f7 t100000\r\nhi\r\n")
    #expect(client.send("mg a k Oxyz v\r\n") == "VA 2 ka Oxyz\r\nhi\r\n")
    #expect(client.send("mg none k Oxyz v\r\n") == "EN knone Oxyz\r\n")
    #expect(client.send("mg none v q\r\nmn\r\n") == "MN\r\n")
    #expect(client.send("me a\r\n").hasPrefix("ME a exp="))
    #expect(client.send("me none\r\n") == "EN\r\n")
  }

  @Test func invalidFlagsAreErrorsAndTheValueIsSkipped() throws {
    let client = try Conversation()
    #expect(client.send("mg a s s\r\n") == "CLIENT_ERROR duplicate flag\r\n")
    #expect(client.send("mg a !\r\n") == "CLIENT_ERROR invalid flag\r\n")
    #expect(client.send("mg a Tx\r\n") == "CLIENT_ERROR bad token in command line format\r\n")
    #expect(client.send("ms a 2 MZ\r\nhi\r\nmn\r\n") == "CLIENT_ERROR invalid mode for ms M token\r\nMN\r\n")
    #expect(client.send("ms a 2 !\r\nhi\r\nmn\r\n") == "CLIENT_ERROR invalid flag\r\nMN\r\n")
    #expect(client.send("ms a x\r\nmn\r\n") == "CLIENT_ERROR bad command line format\r\nMN\r\n")
    #expect(client.send("mg a O\(String(repeating: "o", count: 40))\r\n") == "CLIENT_ERROR opaque token too long\r\n")
    #expect(client.send("mg\r\nmx a\r\n") == "CLIENT_ERROR bad command line format\r\nERROR\r\n")
  }

  @Test func extremeNumbersLeaveTheSessionUsable() throws {
    let client = try Conversation()
    client.send("ms a 1 T60000\r\nx\r\n")
    #expect(client.send("mg a R-9999999999999999\r\nmg a R9223372036854775807\r\n") == "HD\r\nHD W\r\n")
    for flag in ["T9223372036854775807", "T-9223372036854775807", "N-9223372036854775807"] {
      client.send("ms b 1 \(flag)\r\nx\r\nmg b \(flag) v\r\nma b \(flag)\r\nmd b I \(flag)\r\n")
    }
    #expect(client.send("mn\r\n") == "MN\r\n")
  }

  @Test func flagsTakeEffectInTheirOrder() throws {
    let client = try Conversation()
    client.send("ms a 1 T10000\r\nx\r\n")
    #expect(client.send("mg a t T300000 t\r\n") == "CLIENT_ERROR duplicate flag\r\n")
    #expect(client.send("mg a t T300000\r\nmg a T10000 t\r\n") == "HD t10000\r\nHD t10000\r\n")
    #expect(client.send("mg a T300000 R30000\r\nmg a R400000 T10000\r\n") == "HD\r\nHD W\r\n")
  }

  @Test func encodedKeysMayHaveAnyBytes() throws {
    let client = try Conversation()
    // The bytes 00 20 0a ff.
    #expect(client.send("ms ACAK/w== 2 b\r\nhi\r\n") == "HD\r\n")
    #expect(client.store.bytes(CacheKey(bytes: [0, 0x20, 0x0A, 0xFF])) == Array("hi".utf8))
    #expect(client.send("mg ACAK/w== b k v\r\n") == "VA 2 kACAK/w== b\r\nhi\r\n")
    #expect(client.send("mg ACAK/w== v\r\n") == "EN\r\n")
    #expect(client.send("mg A=== b v\r\n") == "CLIENT_ERROR error decoding key\r\n")
    for text in ["", "A", "AAA", "AA=A", "====", "A!AA"] { #expect(Base64.decode(Array(text.utf8)) == nil, "\(text)") }
    #expect(Base64.decode(Array("TWFu".utf8)) == Array("Man".utf8))
    #expect(Base64.decode(Array("TQ==".utf8)) == Array("M".utf8))
  }

  @Test func storageModesAreObeyed() throws {
    let client = try Conversation()
    #expect(client.send("ms a 1 MR\r\nx\r\n") == "NS\r\n")
    #expect(client.send("ms a 1 MA\r\nx\r\n") == "NS\r\n")
    #expect(client.send("ms a 1 MA N0\r\nx\r\n") == "HD\r\n")
    #expect(client.send("ms a 1 ME\r\ny\r\n") == "NS\r\n")
    #expect(client.send("ms a 1 MP\r\nw\r\nms a 1 MA q\r\nz\r\nmg a v\r\n") == "HD\r\nVA 3\r\nwxz\r\n")
    #expect(client.send("ms a 1 C1\r\nx\r\n") == "EX\r\n")
    #expect(client.send("ms b 1 C1\r\nx\r\n") == "NF\r\n")
  }

  @Test func oneClientRenewsAVivifiedItem() throws {
    let client = try Conversation()
    #expect(client.send("mg a s v N30000 t\r\n") == "VA 0 s0 t30000 W\r\n\r\n")
    #expect(client.send("mg a s v N30000\r\n") == "VA 0 s0 Z\r\n\r\n")
    #expect(client.send("ms a 2 T90000\r\nok\r\nmg a v N30000\r\n") == "HD\r\nVA 2\r\nok\r\n")
  }

  @Test func oneClientRenewsAnItemThatExpiresSoon() throws {
    let client = try Conversation()
    client.send("ms a 2 T60000\r\nok\r\n")
    #expect(client.send("mg a v R30000\r\n") == "VA 2\r\nok\r\n")
    #expect(client.send("mg a v R100000\r\n") == "VA 2 W\r\nok\r\n")
    #expect(client.send("mg a v R100000\r\nmg a v\r\n") == "VA 2 Z\r\nok\r\nVA 2 Z\r\nok\r\n")
  }

  @Test func anInvalidatedItemIsServedAsStaleUntilItIsStoredAgain() throws {
    let client = try Conversation()
    client.send("ms a 2\r\nok\r\n")
    let first = try #require(client.unique(of: "a"))
    #expect(client.send("md a I T30000\r\n") == "HD\r\n")
    #expect(client.send("mg a t v\r\n") == "VA 2 t30000 X W\r\nok\r\n")
    #expect(client.send("mg a v\r\n") == "VA 2 Z X\r\nok\r\n")
    // The value of a client with an outdated number stays stale, and does not extend the expiry.
    #expect(client.send("ms a 3 I T90000 C\(first)\r\nold\r\n") == "HD\r\n")
    #expect(client.send("mg a t v\r\n") == "VA 3 t30000 Z X\r\nold\r\n")
    let newest = try #require(client.unique(of: "a"))
    #expect(client.send("ms a 3 T90000 C\(newest)\r\nnew\r\nmg a v\r\n") == "HD\r\nVA 3\r\nnew\r\n")
    #expect(client.send("md none I\r\nmd a C1\r\nmd a\r\nmd a q\r\nmn\r\n") == "NF\r\nEX\r\nHD\r\nMN\r\n")
  }

  @Test func usesAreRecordedFromTheFirstRequestForThem() throws {
    let client = try Conversation()
    client.send("ms a 1\r\nx\r\n")
    #expect(client.send("mg a u h\r\nmg a h\r\nmg a u h\r\n") == "HD h0\r\nHD h0\r\nHD h1\r\n")
    client.send("ms a 1\r\nx\r\n")
    #expect(client.send("mg a h\r\nget a\r\nmg a h\r\n") == "HD h0\r\nVALUE a 0 1\r\nx\r\nEND\r\nHD h1\r\n")
  }

  @Test func arithmeticCreatesMissingItemsAndComparesNumbers() throws {
    let client = try Conversation()
    #expect(client.send("ma n\r\nma n q\r\nmn\r\n") == "NF\r\nMN\r\n")
    #expect(client.send("ma n N90000 J13 v t\r\n") == "VA 2 t90000\r\n13\r\n")
    #expect(client.send("ma n N90000 J13 D30 v\r\n") == "VA 2\r\n43\r\n")
    #expect(client.send("ma n MD D50 v\r\n") == "VA 1\r\n0\r\n")
    #expect(client.send("ma n C5 v\r\n") == "EX\r\n")
    #expect(client.send("ma n T300000 t q\r\nma n M+ D7 v t\r\n") == "VA 1 t300000\r\n8\r\n")
    #expect(client.send("ma n MX\r\n") == "CLIENT_ERROR invalid mode for ma M token\r\n")
    #expect(client.send("ma n Dx\r\n") == "CLIENT_ERROR invalid numeric delta value\r\n")
  }

  @Test func itemRecordsAreParsedAsWritten() {
    var record = ItemRecord(flags: 0xFFFF_FFFF, unique: 1_700_000_000_000_000)
    record.isStale = true
    record.others = Array("content-type: image/png\n".utf8)
    #expect(ItemRecord(metadata: record.metadata, digest: 1) == record)
    #expect(
      String(decoding: record.metadata, as: UTF8.self)
        == "item: ffffffff 00060a24181e4000 s-\ncontent-type: image/png\n")
    let foreign = ItemRecord(metadata: Array("item: zz".utf8), digest: 9)
    #expect(foreign.flags == 0 && foreign.unique == 4 && foreign.others == Array("item: zz".utf8))
  }
}
