/// Numbers and texts of the status page.
enum PageText {
  /// A text without characters that HTML reads as markup.
  static func escaped(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { result, scalar in
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      default: result.unicodeScalars.append(scalar.value < 0x20 ? " " : scalar)
      }
    }
  }

  /// A number with one decimal place.
  static func fixed(_ value: Double) -> String {
    let tenths = Int(min(max(0, value), 1e15) * 10 + 0.5)
    return "\(tenths / 10).\(tenths % 10)"
  }

  static func percent(_ part: Double) -> String { fixed(100 * part) + "%" }

  /// A part of a whole, from 0 to 1.
  static func part(_ count: Int, of whole: Int) -> Double {
    whole <= 0 ? 0 : min(1, max(0, Double(count) / Double(whole)))
  }

  /// `999 B`, `41.2 kB`: powers of 1000.
  static func bytes(_ count: Int) -> String {
    guard count >= 1000 else { return "\(count) B" }
    var (value, unit) = (Double(count) / 1000, 0)
    let units = ["kB", "MB", "GB", "TB", "PB", "EB"]
    while value >= 999.95, unit + 1 < units.count { (value, unit) = (value / 1000, unit + 1) }
    return "\(fixed(value)) \(units[unit])"
  }

  /// `1,234,567`.
  static func count(_ number: Int) -> String {
    let digits = Array(String(number))
    return digits.indices.reduce(into: "") { text, index in
      if index > 0, (digits.count - index) % 3 == 0 { text += "," }
      text.append(digits[index])
    }
  }

  static func time(_ nanoseconds: UInt64) -> String {
    switch nanoseconds {
    case ..<1_000_000: "\(nanoseconds / 1000) µs"
    case ..<1_000_000_000: "\(nanoseconds / 1_000_000) ms"
    default: "\(nanoseconds / 1_000_000_000) s"
    }
  }

  static func duration(_ seconds: Int64) -> String {
    if seconds < 120 { return "\(seconds) s" }
    if seconds < 7200 { return "\(seconds / 60) min" }
    return seconds < 172_800 ? "\(seconds / 3600) h" : "\(seconds / 86_400) days"
  }

  static let style = """
    :root{--ink:#1c2430;--soft:#5d6878;--line:#dfe3e9;--back:#f5f6f8;--card:#fff;--live:#2f7d5b;--dead:#d98b3a;
    --free:#d5dae1}
    @media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#9aa5b4;--line:#323b48;--back:#151a21;
    --card:#1d242d;--live:#4bab82;--free:#3a4553}}
    body{margin:0 auto;max-width:60rem;padding:1.5rem;font:15px/1.5 system-ui,sans-serif;color:var(--ink);
    background:var(--back)}
    header{display:flex;flex-wrap:wrap;align-items:baseline;gap:0 1rem}
    h1{font-size:1.5rem;margin:0}h2{font-size:1.05rem;margin:0 0 .8rem}h3{font-size:.8rem;margin:0;
    color:var(--soft);font-weight:500}
    header p{margin:0}.state{margin-left:auto;padding:.1rem .7rem;border-radius:1rem;color:#fff}
    .good{background:#2f7d5b}.bad{background:#b3382c}
    section{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:1rem;margin:1rem 0}
    .tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(max(9rem,21%),1fr));gap:1rem;padding:0;
    border:0;background:none}
    .tile{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.8rem 1rem}
    .tile b{font-size:1.5rem;font-variant-numeric:tabular-nums}.tile p,.legend,footer{margin:0;color:var(--soft);
    font-size:.85rem}
    .meter{height:.4rem;background:var(--free);border-radius:.2rem;overflow:hidden;margin:.2rem 0}
    .meter i{display:block;height:100%;background:var(--live)}
    .scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
    th{font-weight:500;color:var(--soft);font-size:.85rem}td,th{text-align:right;padding:.2rem .6rem;
    border-bottom:1px solid var(--line);white-space:nowrap}
    td:first-child,th:first-child,.segments td:nth-child(2){text-align:left}.segments td{border:0}
    .segments td:first-child{padding-left:0}
    .key{display:inline-block;width:.7rem;height:.7rem;border-radius:.15rem;margin:0 .4rem 0 0}
    .legend .key{margin-left:.8rem}.legend .key:first-child{margin-left:0}
    .bar{width:50%;min-width:8rem}.bar div{display:flex;height:.8rem;overflow:hidden;border-radius:.2rem}
    .bar i{height:100%}
    .live{background:var(--live)}.dead{background:var(--dead)}.free{background:var(--free)}
    .bars td{border:0}.bars td:first-child{padding-left:0}.bars .bar{width:45%}
    svg{width:100%;min-width:34rem;height:auto;margin-top:1rem}svg text{font-size:12px;fill:var(--soft)}
    svg .grid{stroke:var(--line)}
    @media(max-width:40rem){body{padding:.8rem}.segments td:nth-child(2){display:none}}
    code{font-size:.9em}a{color:inherit}
    """
}
