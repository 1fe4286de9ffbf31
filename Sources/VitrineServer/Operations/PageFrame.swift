/// The frame of a page about a store. The page has no script, and needs nothing from elsewhere.
struct PageFrame {
  let path: String
  /// The problem in the header, in words; nil if there is none.
  let problem: String?
  /// The page is loaded again after this time. Nil for a page that stays as it is.
  var refreshSeconds: Int?
  /// HTML.
  let sections: String
  /// HTML.
  let footer: String

  var html: String {
    let refresh = refreshSeconds.map { "<meta http-equiv=\"refresh\" content=\"\($0)\">" } ?? ""
    return """
      <!DOCTYPE html>
      <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
      \(refresh)<title>Vitrine: \(PageText.escaped(path))</title>
      <style>\(PageText.style)</style></head><body>
      <header><h1>Vitrine</h1><p><code>\(PageText.escaped(path))</code></p>
      <p class="state \(problem == nil ? "good" : "bad")">\(PageText.escaped(problem ?? "ok"))</p></header>
      \(sections)
      <footer>\(footer)</footer>
      </body></html>

      """
  }
}
