/// Looks for the end of a head in input that grows, and reads each byte once.
struct HeadSearch {
  /// The number of bytes that were searched without finding the end of the head.
  private var searchedCount = 0

  /// Begins with the head of the next request.
  mutating func restart() { searchedCount = 0 }

  /// Returns the number of bytes of the head with the empty line at its end, or up to a line feed without a carriage
  /// return. Returns nil if the head has not arrived whole. The next call gets the same bytes, with more behind them.
  mutating func end(in input: UnsafeRawBufferPointer) -> Int? {
    for index in searchedCount..<max(searchedCount, min(input.count, RequestHead.longest))
    where input[index] == Byte.lineFeed {
      let endsLine = index > 0 && input[index - 1] == Byte.carriageReturn
      let isEmpty = index >= 3 && input[index - 2] == Byte.lineFeed && input[index - 3] == Byte.carriageReturn
      if !endsLine || isEmpty {
        searchedCount = 0
        return index + 1
      }
    }
    searchedCount = input.count
    return nil
  }
}
