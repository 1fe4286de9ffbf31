/// Requests of each form in both protocols.
enum RequestSeeds {
  static func all() -> [[UInt8]] {
    let memcached = [
      "get k\r\ngets k none\r\ngat 10 k\r\nquit\r\n",
      "set a 1 0 3\r\nabc\r\nappend a 0 0 1\r\nd\r\nget a\r\n",
      "add k 0 60 1 noreply\r\nx\r\nreplace k 0 -1 1\r\nx\r\ncas k 0 0 1 7\r\nx\r\n",
      "incr k 5\r\ndecr k 99\r\ntouch k 5\r\n",
      "mg k v t f c s O1\r\nms b 2 T30 MA N5\r\nab\r\nmd b q\r\nma k N0 J7 v\r\nme k\r\nmn\r\n",
      "mg aw== b k v N30\r\n",
      "delete k\r\nflush_all\r\nstats settings\r\nversion\r\nverbosity 1\r\n", "set k#square 0 0 99999999999\r\n",
    ]
    let head = "HTTP/1.1\r\nHost: a\r\n"
    let acceptance = "Connection: vitrine-accept\r\nVitrine-Accept: descriptor\r\n"
    let web = [
      "GET /v1/original/k \(head)\r\n", "HEAD /v1/original/k \(head)Connection: close\r\n\r\n",
      "GET /v1/original/k \(head)Range: bytes=2-4\r\nIf-Range: \"x\"\r\n\r\n",
      "GET /v1/original/k \(head)Range: bytes=-3\r\n\r\nGET /v1/original/k \(head)Range: bytes=99-\r\n\r\n",
      "GET /v1/original/k \(head)If-None-Match: W/\"a\", *\r\n\r\n", "DELETE /v1/original/k \(head)\r\n",
      "PUT /v1/a%2Fb@2x/%00%ff?x \(head)Content-Length: 3\r\n\r\nabc",
      "PUT /v1/original/b \(head)Content-Type: a/b\r\nCache-Control: no-store\r\nContent-Length: 3\r\n\r\nabc",
      "PUT /v1/original/b \(head)Expect: 100-continue\r\nIf-None-Match: *\r\nContent-Length: 3\r\n\r\nabc",
      "PUT /v1/original/b \(head)Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
      "GET /v1/original/large \(head)\(acceptance)\r\nGET /health \(head)Vitrine-Release: 1 2\r\n\r\n",
      "PUT /v1/original/b \(head)Vitrine-Metadata: YQo=\r\nVitrine-Expires: 4000000000000\r\nContent-Length: 0\r\n\r\n",
      "PUT /none \(head)Content-Length: 5\r\n\r\nabcdeGET /health \(head)\r\n", "GET /status HTTP/1.0\r\n\r\n",
      "GET /metrics?a \(head)Authorization: Basic YTpi\r\n\r\n\r\nOPTIONS * \(head)Origin: null\r\n\r\n",
    ]
    return memcached.flatMap { text in [[UInt8(28)] + text.utf8, [UInt8(2)] + text.utf8] }
      + web.flatMap { text in [29, 3, 5, 61].map { [UInt8($0)] + text.utf8 } }
  }
}
