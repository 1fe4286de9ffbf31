import FolderRemoval
import Foundation
import Testing
import Vitrine

@testable import VitrineServer

/// Metrics, health and the status page of a server with sockets.
struct OperationsTests {
  @Test func metricsFollowTheFormatAndCountRequests() throws {
    let server = try WebServer()
    let empty = try MetricsFormat(server.get("/metrics").text)
    #expect(empty.value("vitrine_requests_total", ["protocol": "http", "command": "get"]) == 0)
    let client = try server.client()
    for number in 0..<20 {
      try client.send(
        WebResponse.request("PUT", "/v1/original/k\(number)", [], body: [UInt8](repeating: 1, count: 1000)))
      #expect(try client.response().status == 201)
    }
    for path in ["/v1/original/k1", "/v1/original/k2", "/v1/original/none"] {
      try client.send(WebResponse.request("GET", path, [], body: nil))
      _ = try client.response()
    }
    let memcached = try Client(port: server.port)
    try memcached.send("set m 0 0 1\r\nx\r\nget m none\r\nincr none 1\r\nmg m\r\nbad\r\n")
    for line in ["STORED", "VALUE m 0 1", "x", "END", "NOT_FOUND", "HD", "ERROR"] {
      #expect(try memcached.line() == line)
    }
    let full = try MetricsFormat(server.get("/metrics").text)
    for (labels, count) in [
      (["protocol": "http", "command": "put"], 20), (["protocol": "http", "command": "get"], 3),
      (["protocol": "http", "command": "report"], 1), (["protocol": "memcached", "command": "set"], 1),
      (["protocol": "memcached", "command": "get"], 1), (["protocol": "memcached", "command": "arithmetic"], 1),
      (["protocol": "memcached", "command": "mg"], 1), (["protocol": "memcached", "command": "other"], 1),
      (["protocol": "memcached", "command": "delete"], 0),
    ] as [([String: String], Double)] {
      #expect(full.value("vitrine_requests_total", labels) == count, "\(labels)")
      #expect(full.value("vitrine_request_duration_seconds_count", labels) == count, "\(labels)")
    }
    #expect(full.value("vitrine_hits_total") == 4)
    #expect(full.value("vitrine_misses_total") == 2)
    #expect(full.value("vitrine_http_responses_total", ["class": "4xx"]) == 1)
    #expect(full.value("vitrine_store_entries") == 21)
    #expect(full.value("vitrine_store_writable") == 1)
    #expect(full.value("vitrine_store_budget_bytes") == Double(server.store.byteBudget))
    #expect(try #require(full.value("vitrine_received_bytes_total")) > 20_000)
    #expect(try #require(full.value("vitrine_sent_bytes_total")) > 2000)
    #expect(try #require(full.value("vitrine_connections")) >= 2)
    // A counter never falls, also when a client of the memcached protocol resets its own numbers.
    try memcached.send("stats reset\r\n")
    #expect(try memcached.line() == "RESET")
    let later = try MetricsFormat(server.get("/metrics").text)
    for (name, metric) in full.metrics where metric.kind != "gauge" {
      for sample in metric.samples {
        let value = try #require(later.value(sample.name, sample.labels))
        #expect(value >= sample.value, "\(name)")
      }
    }
  }

  @Test func theReaderOfMetricsRefusesContradictions() {
    let begin = "# HELP a b\n# TYPE a histogram\n"
    for text in [
      "", "a 1", "a 1\n", "# TYPE a gauge\na 1\n", "# HELP a b\n# TYPE a counter\na 1\n",
      "# HELP a b\n# TYPE a gauge\na x\n",
      "# HELP a b\n# TYPE a gauge\na{} 1\n", "# HELP a b\n# TYPE a gauge\na{b=\"c\"d=\"e\"} 1\n",
      "# HELP a b\n# TYPE a gauge\na 1\na 2\n", "# HELP a b\n# TYPE a gauge\nb 1\n", "# HELP a b\n# TYPE a gauge\n",
      begin + "a_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 2\n", begin + "a_bucket{le=\"1\"} 1\na_sum 1\na_count 1\n",
      begin + "a_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n",
      begin + "a_bucket{le=\"2\"} 0\na_bucket{le=\"1\"} 1\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n",
    ] { #expect(throws: MetricsFormat.Violation.self, "\(text)") { try MetricsFormat(text) } }
    #expect(throws: Never.self) {
      try MetricsFormat(begin + "a_bucket{le=\"1\"} 1\na_bucket{le=\"+Inf\"} 2\na_sum 1.5\na_count 2\n")
    }
  }

  @Test func secondsAreWrittenWithoutLoss() {
    #expect(MetricsText.seconds(0) == "0")
    #expect(MetricsText.seconds(2000) == "0.000002")
    #expect(MetricsText.seconds(1_000_000_000) == "1")
    #expect(MetricsText.seconds(12_345_000_001) == "12.345000001")
    #expect(MetricsText.seconds(.max) == "18446744073.709551615")
  }

  @Test func durationsFallIntoTheirBuckets() {
    let latencies = Latencies()
    for duration in [0, 2000, 2001, 1_000_000_000, 1_000_000_001, UInt64.max] { latencies.note(.httpGet, duration) }
    let histogram = latencies.histogram(.httpGet)
    #expect(histogram.counts[0] == 2)
    #expect(histogram.counts[1] == 1)
    #expect(histogram.counts[Latencies.bounds.count - 1] == 1)
    #expect(histogram.counts[Latencies.bounds.count] == 2)
    #expect(histogram.count == 6)
    #expect(histogram.bound(ofPart: 0.5) == 5000)
    #expect(histogram.bound(ofPart: 0.99) == nil)
    #expect(latencies.histogram(.httpPut).count == 0)
    #expect(LatencyHistogram().bound(ofPart: 0.5) == nil)
  }

  @Test func aRemovedStoreIsNotHealthy() throws {
    let server = try WebServer()
    #expect(try server.get("/health").status == 200)
    try FileManager.default.moveItem(atPath: server.folder, toPath: server.folder + "-moved")
    defer { try? FileManager.default.removeItem(atPath: server.folder + "-moved") }
    let answer = try server.get("/health")
    #expect(answer.status == 503)
    #expect(answer.text.contains("removed or replaced"))
    #expect(try MetricsFormat(server.get("/metrics").text).value("vitrine_store_writable") == 0)
    #expect(try server.get("/status").text.contains("removed or replaced"))
  }

  @Test func theStatusPageIsSelfContained() throws {
    let server = try WebServer(name: "a<b>&\"c'")
    #expect(try server.get("/status").text.contains("Segments"))
    for number in 0..<50 {
      #expect(try server.put("/v1/original/k\(number)", [UInt8](repeating: UInt8(number), count: 5000)).status == 201)
      #expect(try server.get("/v1/original/k\(number)").status == 200)
    }
    let page = try server.get("/status")
    #expect(page.status == 200)
    #expect(page.fields["content-type"] == "text/html; charset=utf-8")
    #expect(page.fields["content-security-policy"]?.hasPrefix("default-src 'none'") == true)
    #expect(!page.text.contains("<script"))
    #expect(!page.text.contains("http://"))
    #expect(!page.text.contains("https://"))
    #expect(!page.text.contains("a<b>"))
    #expect(page.text.contains("a&lt;b&gt;&amp;&quot;c&#39;"))
    #expect(page.text.contains("<polyline"))
    #expect(page.text.contains("class=\"live\""))
    #expect(page.text.contains("Hit ratio"))
    try expectClosedElements(page.text)
  }
}

/// Expects an end for each element that is opened.
func expectClosedElements(_ page: String) throws {
  for name in ["html", "body", "head", "section", "table", "tr", "td", "div", "svg", "p", "i", "b", "text"] {
    let opened = page.matches(of: try Regex("<\(name)[ >]")).count
    #expect(page.components(separatedBy: "</\(name)>").count - 1 == opened, "\(name)")
  }
}
