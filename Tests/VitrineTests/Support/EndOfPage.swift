import Glibc

@testable import Vitrine

/// Passes a copy of `bytes` that ends where the mapped memory ends: reading one byte further ends the process.
func atTheEndOfMemory<R>(_ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
  let page = 4096
  let room = roundUp(max(bytes.count, 1), to: page)
  let start = mmap(nil, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)!
  precondition(start != MAP_FAILED && mprotect(start + room, page, PROT_NONE) == 0)
  defer { munmap(start, room + page) }
  let place = start + (room - bytes.count)
  if !bytes.isEmpty { place.copyMemory(from: bytes, byteCount: bytes.count) }
  return try body(UnsafeRawBufferPointer(start: place, count: bytes.count))
}
