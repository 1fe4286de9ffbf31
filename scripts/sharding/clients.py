"""Clients for memcached and HTTP. A get returns (outcome, data), a put returns an outcome."""
import http.client, socket
from urllib.parse import quote

HIT, MISS, DOWN = "hit", "miss", "down"
SECONDS = 30


class Connection:
    """A connection that opens at its first request, and again after an error."""

    def __init__(self, port):
        self.port = port
        self.socket = self.file = None

    def close(self):
        if self.socket:
            self.file.close()
            self.socket.close()
            self.socket = self.file = None

    def exchange(self, request, answer):
        """Sends a request, and returns the result of `answer(file)`. None if the server does not answer."""
        try:
            if not self.socket:
                self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.file = self.socket.makefile("rb")
            self.socket.sendall(request)
            return answer(self.file)
        except (OSError, EOFError, ValueError):
            self.close()
            return None

    def line(self, file):
        line = file.readline()
        if not line.endswith(b"\n"):
            raise EOFError
        return line.rstrip(b"\r\n")

    def read(self, file, length):
        data = file.read(length)
        if len(data) != length:
            raise EOFError
        return data


class Memcached(Connection):
    def get(self, key):
        def answer(file):
            line = self.line(file)
            if line == b"END":
                return MISS, b""
            if not line.startswith(b"VALUE "):
                return DOWN, line
            data = self.read(file, int(line.split()[3]))
            if self.read(file, 7) != b"\r\nEND\r\n":
                raise ValueError
            return HIT, data
        return self.exchange(b"get %b\r\n" % key.encode(), answer) or (DOWN, b"")

    def put(self, key, data):
        request = b"set %b 0 0 %d\r\n%b\r\n" % (key.encode(), len(data), data)
        return HIT if self.exchange(request, self.line) == b"STORED" else DOWN

    def delete(self, key):
        return self.exchange(b"delete %b\r\n" % key.encode(), self.line) == b"DELETED"

    def flush(self):
        return self.exchange(b"flush_all\r\n", self.line) == b"OK"

    def statistics(self):
        def answer(file):
            found = {}
            while (line := self.line(file)) != b"END":
                name, value = line.decode().split(" ", 2)[1:]
                found[name] = value
            return found
        return self.exchange(b"stats\r\n", answer)


class HTTP(Connection):
    """Values below a path: PATH/KEY."""

    def __init__(self, port, path):
        super().__init__(port)
        self.path = path

    def request(self, method, key, body=b""):
        target = self.path + quote(key, safe="")
        length = f"Content-Length: {len(body)}\r\n" if method == "PUT" else ""
        head = f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n{length}\r\n"

        def answer(file):
            status = int(self.line(file).split()[1])
            fields = http.client.parse_headers(file)
            data = self.read(file, int(fields.get("Content-Length") or 0))
            return status, fields, data
        answered = self.exchange(head.encode() + body, answer)
        if answered and (answered[1].get("Connection") or "").lower() == "close":
            self.close()
        return answered

    def get(self, key):
        status, fields, data = self.request("GET", key) or (0, {}, b"")
        if status == 200:
            return HIT, data
        return (MISS if status == 404 and not fields.get("X-Cache") else DOWN), b""

    def put(self, key, data):
        status = (self.request("PUT", key, data) or (0,))[0]
        return HIT if status in (201, 204) else DOWN

    def healthy(self):
        return (self.request("GET", "") or (0,))[0] == 200
