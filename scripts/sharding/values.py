"""Values that follow from their key and version, and the record of which versions each key may have."""
import hashlib, time

LEAST, MOST = 1024, 40 * 1024


def content(key, version):
    """The value of a key's version: 1 to 40 KB. It begins with both, and all other bytes follow from them."""
    head = f"{key} {version}\n".encode()
    seed = hashlib.shake_128(head)
    length = LEAST + int.from_bytes(seed.digest(4), "little") % (MOST - LEAST + 1)
    return head + seed.digest(length - len(head))


def problem(key, data, least, most):
    """None if `data` is a whole value of the key with a version from `least` to `most`, otherwise its fault as text."""
    fields = data.split(b"\n", 1)[0].split(b" ")
    if len(fields) != 2 or fields[0] != key.encode() or not fields[1].isdigit():
        return f"{key}: {len(data)} bytes that are no value of this key"
    version = int(fields[1])
    if version < least:
        return f"{key}: version {version}, but a put of version {least} was acknowledged before the get"
    if version > most:
        return f"{key}: version {version}, which was never put"
    if data != content(key, version):
        return f"{key}: wrong bytes in version {version}"
    return None


class Ledger:
    """Of each key, the newest version that a put has begun with, and the newest that a server has acknowledged, with the
    time. Each key has one writer at a time, so its versions increase in order."""

    def __init__(self, keys):
        self.keys = list(keys)
        self.started = [0] * len(self.keys)
        self.acknowledged = [0] * len(self.keys)
        self.times = [0.0] * len(self.keys)
        # Keys with a put that may have reached the node when it was killed, and was not acknowledged.
        self.uncertain = set()
        # Keys whose acknowledged value may be on another node than their owner.
        self.elsewhere = set()

    def add(self, key):
        self.started.append(0)
        self.acknowledged.append(0)
        self.times.append(0.0)
        self.keys.append(key)
        return len(self.keys) - 1

    def acknowledge(self, index, version):
        self.acknowledged[index] = version
        self.times[index] = time.monotonic()

    def problem(self, index, data, least):
        """As `problem`. `least` is the version that was acknowledged before the get began."""
        return problem(self.keys[index], data, least, self.started[index])
