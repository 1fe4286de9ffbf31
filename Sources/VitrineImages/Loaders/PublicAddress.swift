#if os(Linux)
  import CCurl
  import Glibc

  /// Tells addresses of the internet from those of this machine, of private networks and of special uses (RFC 6890).
  enum PublicAddress {
    /// Whether libcurl is about to connect to a public address. Other families than IPv4 and IPv6 have none.
    static func isPublic(_ address: UnsafePointer<curl_sockaddr>) -> Bool {
      guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return false }
      // The address begins in `addr`, and may be longer.
      let bytes = UnsafeRawBufferPointer(
        start: UnsafeRawPointer(address) + offset, count: Int(clamping: address.pointee.addrlen))
      switch address.pointee.family {
      case AF_INET: return bytes.count >= 8 && isPublic(v4: Array(bytes[4..<8]))
      case AF_INET6: return bytes.count >= 24 && isPublic(v6: Array(bytes[8..<24]))
      default: return false
      }
    }

    /// The first address and the number of common bits of each network that is not public.
    private static let special: [(UInt32, Int)] = [
      (0x0000_0000, 8), (0x0A00_0000, 8), (0x6440_0000, 10), (0x7F00_0000, 8), (0xA9FE_0000, 16), (0xAC10_0000, 12),
      (0xC000_0000, 24), (0xC000_0200, 24), (0xC058_6300, 24), (0xC0A8_0000, 16), (0xC612_0000, 15), (0xC633_6400, 24),
      (0xCB00_7100, 24), (0xE000_0000, 4), (0xF000_0000, 4),
    ]

    /// `bytes` has 4 bytes.
    static func isPublic(v4 bytes: [UInt8]) -> Bool {
      let number = bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      return !special.contains { first, count in number >> (32 - count) == first >> (32 - count) }
    }

    /// `bytes` has 16 bytes. A network whose addresses contain an IPv4 address does not count as public.
    static func isPublic(v6 bytes: [UInt8]) -> Bool {
      // 2000::/3 without 2001::/23 (among them Teredo), 2001:db8::/32 (examples), 2002::/16 (6to4) and 3fff::/20.
      let first = UInt32(bytes[0]) << 24 | UInt32(bytes[1]) << 16 | UInt32(bytes[2]) << 8 | UInt32(bytes[3])
      return first >> 29 == 1 && first >> 9 != 0x2001_0000 >> 9 && first != 0x2001_0DB8 && first >> 16 != 0x2002
        && first >> 12 != 0x3FFF_0000 >> 12
    }
  }
#endif
