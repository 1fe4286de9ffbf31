import FuzzSupport

/// Answers of each form: lengths, chunks, codings, redirects, cookies, interim heads.
enum AnswerSeeds {
  static func all() -> [[UInt8]] {
    let gzip: [UInt8] = [
      0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255, 1, 3, 0, 0xFC, 0xFF, 97, 98, 99, 0xC2, 0x41, 0x24, 0x35, 3, 0, 0, 0,
    ]
    // "vitrine" four times.
    let brotli: [UInt8] = [
      0x1B, 0x1E, 0x00, 0xF8, 0x8D, 0x94, 0x6E, 0xDE, 0xB4, 0x2E, 0x4B, 0x93, 0xB3, 0x93, 0x20, 0x6E, 0x74, 0xC1, 0x4F,
      0x38, 0x20, 0x7B, 0x06,
    ]
    let texts: [[UInt8]] = [
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 200\nContent-Type : image/png\n\nabc",
      "HTTP/1.0 404 No\r\nX: a\r\n b\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n3;a=b\r\nabc\r\n0\r\nX: 1\r\n\r\n",
      "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 206 P\r\nContent-Range: bytes 1-2/3\r\nETag: \"a\"\r\n\r\nbc",
      "HTTP/1.1 302 Found\r\nLocation: //b.invalid/a%20b c\u{FC}?d#e\r\nSet-Cookie: a=b; Path=/; Secure\r\n"
        + "Content-Length: 0\r\n\r\n",
      "HTTP/1.1 307 T\r\nLocation: https://u:p@[::1]:8080/../x\r\n\r\nabc",
      "HTTP/1.1 301 M\r\nLocation: file:///etc\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n", "HTTP/2 200\r\n\r\n", "ICY 200 OK\r\n\r\n",
      "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 304 Not\r\nCache-Control: max-age=5\r\nRetry-After: 3\r\n\r\n",
      "HTTP/1.1 407 P\r\nProxy-Authenticate: Digest realm=\"x\", nonce=\"y\"\r\n\r\n",
      "HTTP/1.1 200 OK\r\nUpgrade: h2c\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\nContent-Length: 0\r\n\r\n",
    ].map { Array($0.utf8) }
    let bodies: [(String, [UInt8])] = [
      ("gzip", gzip), ("x-gzip, utf-8", gzip), ("deflate", Array(gzip[10...])), ("br", brotli),
    ]
    let packed: [[UInt8]] = bodies.map { coding, body in
      let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n"
      return Array(head.utf8) + body
    }
    var seeds: [[UInt8]] = []
    for (number, bytes) in (texts + packed).enumerated() {
      let slow = UInt8(number % 8)
      let open: UInt8 = 7 | 16
      seeds.append([slow] + bytes)
      seeds.append([open] + bytes)
      if number % 4 == 0 { seeds.append([UInt8(7 | 8)] + bytes) }
    }
    return seeds
  }
}
