"""The consistent hashing of nginx and of twemproxy, and the popularity of keys: all that the expected shares need."""
import bisect, hashlib, itertools, zlib

POINTS = 160


class Ring:
    """Points with their nodes. A key belongs to the node of the first point at or behind its hash."""

    def __init__(self, points, hash_of):
        self.hashes = [point for point, _ in points]
        self.nodes = [node for _, node in points]
        self.hash_of = hash_of

    def owner(self, key):
        index = bisect.bisect_left(self.hashes, self.hash_of(key.encode()))
        return self.nodes[index % len(self.nodes)]


def nginx_ring(addresses):
    """The ring of `hash ... consistent` over addresses, HOST:PORT each, with weight 1. Nodes are indexes of addresses."""
    points = []
    for node, address in enumerate(addresses):
        host, port = address.rsplit(":", 1)
        base = host.encode() + b"\0" + port.encode()
        previous = 0
        for _ in range(POINTS):
            previous = zlib.crc32(base + previous.to_bytes(4, "little"))
            points.append((previous, node))
    unique, last = [], None
    for point in sorted(points, key=lambda point: point[0]):
        if point[0] != last:
            unique.append(point)
        last = point[0]
    return Ring(unique, zlib.crc32)


def fnv1a_64(data):
    """twemproxy's function of this name: its hash has 32 bits."""
    value = 0x84222325
    for byte in data:
        value = (value ^ byte) * 0x1B3 & 0xFFFFFFFF
    return value


def ketama_ring(names):
    """twemproxy's ring `ketama` with `fnv1a_64` over nodes of equal weight. Nodes are indexes of names."""
    points = []
    for node, name in enumerate(names):
        for index in range(POINTS // 4):
            digest = hashlib.md5(f"{name}-{index}".encode()).digest()
            points += [(int.from_bytes(digest[at:at + 4], "little"), node) for at in range(0, 16, 4)]
    return Ring(sorted(points), fnv1a_64)


class Zipf:
    """Ranks from 0 with weights 1 / (rank + 1) ^ exponent."""

    def __init__(self, count, exponent):
        self.weights = [1 / (rank + 1) ** exponent for rank in range(count)]
        self.sums = list(itertools.accumulate(self.weights))

    def rank(self, fraction):
        """The rank at a fraction of all weight, from 0 inclusive to 1 exclusive."""
        return min(bisect.bisect_right(self.sums, fraction * self.sums[-1]), len(self.sums) - 1)


def arcs(ring, nodes):
    """The share of all hashes that each node owns."""
    found, last = [0] * nodes, ring.hashes[-1] - (1 << 32)
    for point, node in zip(ring.hashes, ring.nodes):
        found[node] += point - last
        last = point
    return [length / (1 << 32) for length in found]


def spread(make, nodes, joining):
    """Numbers of a ring of names: the largest and the smallest share of a node as multiples of the mean, the share of keys that
    move when `joining` nodes join, and the largest growth of a node, in parts of its own keys, when the first one leaves."""
    names = [f"node{number}:11211" for number in range(1, nodes + joining + 1)]
    of_nodes = arcs(make(names[:nodes]), nodes)
    joined = arcs(make(names), nodes + joining)
    left = arcs(make(names[1:nodes]), nodes - 1)
    growth = [after / before - 1 for after, before in zip(left, of_nodes[1:])]
    return {"largest": max(of_nodes) * nodes, "smallest": min(of_nodes) * nodes, "moved": sum(joined[nodes:]),
            "growth": max(growth), "heirs": sum(part > 0 for part in growth)}


def shares(owners, weights, nodes):
    """The share of the keys, and the share of the weight, that each node owns."""
    keys, weight = [0] * nodes, [0.0] * nodes
    for owner, of_key in zip(owners, weights):
        keys[owner] += 1
        weight[owner] += of_key
    return [count / sum(keys) for count in keys], [part / sum(weight) for part in weight]


def moved(before, after, keys):
    """The share of the keys that two rings give to different nodes."""
    return sum(before.owner(key) != after.owner(key) for key in keys) / len(keys)
