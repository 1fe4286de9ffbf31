/// Text in XML documents, such as SVG pictures.
public enum XML {
  /// Returns the text with references in place of the characters that have a meaning in XML, quotes included. O(n).
  public static func escaped(_ text: String) -> String {
    var escaped = ""
    for character in text.unicodeScalars {
      switch character {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }
}
