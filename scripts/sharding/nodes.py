"""The processes: four servers, nginx and twemproxy, with the configurations of Examples/cluster."""
import os, re, shutil, signal, socket, subprocess, time
from pathlib import Path

from .clients import HTTP, Memcached

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "Examples" / "cluster"
# The ports of the files in Examples/cluster.
MEMCACHED, WEB = [11311, 11312, 11313, 11314], [8311, 8312, 8313, 8314]
NGINX, CACHE, IMMUTABLE, STATISTICS = 8310, 11310, 11320, 11329
PORTS = [*MEMCACHED, *WEB, NGINX, CACHE, IMMUTABLE, STATISTICS]
NAMES = ["node1", "node2", "node3", "node4"]
# A limit for processes that never get ready, not a measure of their speed.
READY_SECONDS = 60


class Failure(Exception):
    """The cluster did not come to the point where its figures can be judged."""


def bound(port):
    """A socket that listens at a port. 0 is any free port."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except OSError:
        listener.close()
        return None
    return listener


def choose_ports():
    """A port for each one of the files: the same, or another if any of them is in use."""
    listeners = [bound(port) for port in PORTS]
    if None in listeners:
        for listener in filter(None, listeners):
            listener.close()
        listeners = [bound(0) for _ in PORTS]
        if None in listeners:
            raise Failure("there are not enough free ports at 127.0.0.1")
    chosen = {port: listener.getsockname()[1] for port, listener in zip(PORTS, listeners)}
    for listener in listeners:
        listener.close()
    return chosen


def with_ports(text, ports):
    """The text of a configuration with the chosen ports in place of its own."""
    return re.sub(r"\b\d{4,5}\b", lambda number: str(ports.get(int(number[0]), number[0])), text)


class Cluster:
    def __init__(self, cachectl, folder, budget, with_twemproxy):
        self.cachectl, self.folder, self.budget, self.with_twemproxy = cachectl, Path(folder), budget, with_twemproxy
        self.ports = choose_ports()
        self.processes = {}
        # The pool of values that change.
        self.pool = CACHE

    def memcached(self, node):
        return self.ports[MEMCACHED[node]]

    def web(self, node):
        return self.ports[WEB[node]]

    def start(self):
        # nginx's processes of another user make files in folders below.
        self.folder.chmod(0o711)
        for node in range(len(NAMES)):
            self.start_node(node)
        for name in ("nginx.conf", "nutcracker.yml"):
            text = (EXAMPLES / name).read_text()
            (self.folder / name).write_text(with_ports(text, self.ports))
        self.run("nginx", "nginx", "-p", self.folder, "-e", "error.log", "-c", "nginx.conf", "-g", "daemon off;")
        self.await_port("nginx", NGINX)
        if self.with_twemproxy:
            # The package's own default is a log file for root.
            self.run("nutcracker", "nutcracker", "-c", "nutcracker.yml", "-o", "nutcracker.log", "-a", "127.0.0.1",
                     "-s", str(self.ports[STATISTICS]))
            self.await_port("nutcracker", CACHE)
            self.await_port("nutcracker", IMMUTABLE)

    def run(self, name, *command):
        """Starts a process, in a session of its own so that Ctrl-C reaches the script alone."""
        with open(self.folder / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                [str(word) for word in command], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)

    def start_node(self, node):
        """Starts a server, and returns the seconds until it is ready."""
        name = NAMES[node]
        start = time.monotonic()
        self.run(name, self.cachectl, "serve", self.folder / f"{name}.cache", "--budget", str(self.budget),
                 "--threads", "2", "--listen", f"127.0.0.1:{self.memcached(node)}", "--http", f"127.0.0.1:{self.web(node)}")
        health = HTTP(self.web(node), "/health")
        self.wait(name, health.healthy)
        seconds = time.monotonic() - start
        health.close()
        return seconds

    def wait(self, name, is_ready):
        deadline = time.monotonic() + READY_SECONDS
        while not is_ready():
            status = self.processes[name].poll()
            if status is not None or time.monotonic() > deadline:
                ended = "is not ready" if status is None else f"ended with status {status}"
                raise Failure(f"{name} {ended}. Its last lines:\n{self.last_lines(name)}")
            time.sleep(0.005)

    def await_port(self, name, port):
        def answers():
            try:
                socket.create_connection(("127.0.0.1", self.ports[port]), timeout=1).close()
                return True
            except OSError:
                return False
        self.wait(name, answers)

    def last_lines(self, name):
        text = ""
        for log in (self.folder / f"{name}.log", self.folder / "error.log" if name == "nginx" else None):
            if log and log.exists():
                text += log.read_text(errors="replace")
        return "\n".join("  " + line for line in text.splitlines()[-5:]) or "  (none)"

    def kill_node(self, node):
        process = self.processes[NAMES[node]]
        if process.poll() is not None:
            raise Failure(f"{NAMES[node]} ended with status {process.returncode} before it was killed")
        # The group, so that a program that wraps the server goes with it.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def restart_node(self, node):
        """Ends a server by SIGTERM and starts it, and returns the seconds from the signal to the first answer."""
        name, start = NAMES[node], time.monotonic()
        process = self.processes[name]
        process.terminate()
        try:
            status = process.wait(READY_SECONDS)
        except subprocess.TimeoutExpired:
            raise Failure(f"{name} does not end after SIGTERM")
        if status != 0:
            raise Failure(f"{name} ended with status {status} after SIGTERM. Its last lines:\n{self.last_lines(name)}")
        self.start_node(node)
        return time.monotonic() - start

    def ended(self, but=None):
        """The names of processes that ended by themselves."""
        return [name for name, process in self.processes.items() if name != but and process.poll() is not None]

    def client(self, node):
        return Memcached(self.memcached(node))

    def stop(self):
        """Ends all processes. Each leads a group, with the workers of nginx in it."""
        for process in self.processes.values():
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + 10
        for process in self.processes.values():
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
            process.wait()


def find_twemproxy():
    """twemproxy's program. Its package has it in a folder that is not in every PATH."""
    os.environ["PATH"] += os.pathsep + "/usr/sbin"
    return shutil.which("nutcracker")
