/// Elements in the order in which they came, each with a number by which it is removed.
///
/// Reading the first element takes constant time. A removal is a binary search and a move of the later elements.
struct NumberedLine<Element> {
  private var elements: [(number: UInt64, element: Element)] = []
  private var nextNumber: UInt64 = 1

  var first: Element? { elements.first?.element }
  var isEmpty: Bool { elements.isEmpty }
  var count: Int { elements.count }
  var all: some Collection<Element> { elements.lazy.map(\.element) }

  /// Appends an element and returns its number.
  mutating func append(_ element: Element) -> UInt64 {
    _ = append { _ in element }
    return nextNumber - 1
  }

  /// Appends the element that `make` returns for its number, and returns it.
  mutating func append(_ make: (UInt64) -> Element) -> Element {
    let element = make(nextNumber)
    elements.append((nextNumber, element))
    nextNumber += 1
    return element
  }

  /// Removes an element. Returns nil if it was removed before.
  @discardableResult
  mutating func remove(_ number: UInt64) -> Element? {
    var (low, high) = (0, elements.count)
    while low < high {
      let middle = (low + high) / 2
      if elements[middle].number < number { low = middle + 1 } else { high = middle }
    }
    guard low < elements.count, elements[low].number == number else { return nil }
    return elements.remove(at: low).element
  }
}
