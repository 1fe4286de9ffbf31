"""The load: threads that get, put and compare, in phases."""
import random, threading, time

from . import nodes, rings, values
from .clients import DOWN, HIT, HTTP, MISS, Memcached
from .judge import EJECTING

DIRECT, WEB, CACHE = "memcached", "http", "twemproxy"
READERS, WRITERS = 4, 4
# Between two puts of a writer, so that gets are most of the load. While a node is killed, writers do not pause.
PAUSE = 0.006
KILL = "kill"
# A phase that makes no progress for so long has failed. No measure of speed.
STALLED_SECONDS = 120
# A request that must succeed is tried so often: a proxy gives up after 2 s, also if a busy machine made its node wait.
TRIES = 5


def patient(request):
    """The outcome of a request, tried again while no node answers. It returns an outcome, or a tuple that begins with one."""
    for number in range(TRIES):
        answered = request()
        if DOWN != (answered[0] if isinstance(answered, tuple) else answered):
            break
        time.sleep(0.1 * number)
    return answered


def key_of(index):
    return f"https://images.example.org/photos/{index:06d}.jpg"


class Clients:
    """The connections of a thread, one to each proxy. A client of nginx's memcached route puts to the key's node itself."""

    def __init__(self, cluster):
        nginx = cluster.ports[nodes.NGINX]
        self.direct = [cluster.client(node) for node in range(len(nodes.NAMES))]
        self.getters = {DIRECT: HTTP(nginx, "/memcached/"), WEB: HTTP(nginx, "/v1/original/")}
        if cluster.with_twemproxy:
            self.getters |= {
                CACHE: Memcached(cluster.ports[cluster.pool]), EJECTING: Memcached(cluster.ports[nodes.IMMUTABLE])}

    def get(self, route, key):
        return self.getters[route].get(key)

    def put(self, route, owner, key, data):
        return (self.direct[owner] if route == DIRECT else self.getters[route]).put(key, data)

    def close(self):
        for client in (*self.direct, *self.getters.values()):
            client.close()


class Phase:
    def __init__(self, routes, count):
        self.counts = {route: [{"hits": 0, "misses": 0, "errors": 0} for _ in range(count)] for route in routes}
        self.gets = self.puts = self.refused = self.origin = 0
        self.seconds = 0.0

    def figures(self):
        return {"seconds": round(self.seconds, 3), "puts": self.puts, "refused": self.refused, "origin": self.origin,
                "routes": {route: dict(zip(nodes.NAMES, counts)) for route, counts in self.counts.items()}}


class Drive:
    """Keys are numbered by popularity. Key i belongs to the route i modulo the number of routes."""

    def __init__(self, cluster, count, exponent, seed):
        self.cluster, self.count, self.seed = cluster, count, seed
        self.routes = [DIRECT, WEB] + ([CACHE, EJECTING] if cluster.with_twemproxy else [])
        memcached, web = ([f"127.0.0.1:{of(node)}" for node in range(len(nodes.NAMES))]
                          for of in (cluster.memcached, cluster.web))
        ketama = rings.ketama_ring(nodes.NAMES)
        self.rings = {DIRECT: rings.nginx_ring(memcached), WEB: rings.nginx_ring(web), CACHE: ketama, EJECTING: ketama}
        self.zipf = rings.Zipf(count, exponent)
        self.ledger = values.Ledger(map(key_of, range(count)))
        self.owners = [self.owner(index) for index in range(count)]
        self.phases = {}
        self.compared = 0
        self.wrong = []
        # State of the threads, under the condition: the phase, or None while they rest.
        self.condition = threading.Condition()
        self.phase = None
        self.busy = 0
        self.is_over = False
        self.failure = None
        self.threads = []

    def route(self, index):
        return self.routes[index % len(self.routes)]

    def owner(self, index):
        return self.rings[self.route(index)].owner(self.ledger.keys[index])

    def shares(self, killed):
        """By route, the killed node's share of the keys, and of the gets."""
        found = {}
        for number, route in enumerate(self.routes):
            every = slice(number, None, len(self.routes))
            keys, gets = rings.shares(self.owners[every], self.zipf.weights[every], len(nodes.NAMES))
            found[route] = {"keys": keys[killed], "gets": gets[killed]}
        return found

    # --- Threads -------------------------------------------------------------------------------------------------------

    def parallel(self, count, work):
        """Runs `work(number, clients)` in threads, and waits. The first error is raised."""
        errors = []

        def run(number):
            clients = Clients(self.cluster)
            try:
                work(number, clients)
            except Exception as error:
                errors.append(error)
            finally:
                clients.close()
        threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    def start(self):
        for number in range(READERS + WRITERS):
            work = self.read if number < READERS else self.write
            thread = threading.Thread(target=self.guarded, args=(work, number), daemon=True)
            self.threads.append(thread)
            thread.start()

    def guarded(self, work, number):
        clients = Clients(self.cluster)
        try:
            work(number, clients, random.Random(self.seed * 1000 + number))
        except Exception as error:
            with self.condition:
                self.failure = error
                self.condition.notify_all()
        finally:
            clients.close()

    def enter(self):
        """Waits until a phase runs, and returns it. None at the end."""
        with self.condition:
            while self.phase is None and not self.is_over:
                self.condition.wait()
            if self.is_over:
                return None
            self.busy += 1
            return self.phase

    def leave(self, phase, route, owner, outcome, is_get):
        """Counts an operation in its phase. One that spans two phases counts in none."""
        with self.condition:
            self.busy -= 1
            if phase == self.phase and phase in self.phases:
                at = self.phases[phase]
                if is_get:
                    at.gets += 1
                    at.counts[route][owner][{HIT: "hits", MISS: "misses", DOWN: "errors"}[outcome]] += 1
                    at.origin += outcome != HIT
                else:
                    at.puts += 1
                    at.refused += outcome != HIT
            self.condition.notify_all()
            return phase == self.phase

    def run_phase(self, name, gets, action=None):
        """Lets the threads work until they have made `gets` gets in this phase, and `action`, if any, has returned. They go
        on after that."""
        start = time.monotonic()
        with self.condition:
            phase = self.phases[name] = Phase(self.routes, len(nodes.NAMES))
            self.phase = name
            self.condition.notify_all()
        if action:
            action()
        with self.condition:
            progress, seen = time.monotonic(), 0
            while phase.gets < gets and not self.failure:
                self.condition.wait(0.5)
                if phase.gets != seen:
                    seen, progress = phase.gets, time.monotonic()
                elif time.monotonic() - progress > STALLED_SECONDS:
                    raise nodes.Failure(f"no get ended for {STALLED_SECONDS} s in phase '{name}'")
            phase.seconds = time.monotonic() - start
            if self.failure:
                raise self.failure

    def change(self, name):
        """Begins a time that counts for no phase, with a name, or a rest with None."""
        with self.condition:
            self.phase = name
            while name is None and self.busy and not self.failure:
                self.condition.wait(0.5)

    def stop(self):
        with self.condition:
            self.is_over = True
            self.condition.notify_all()
        for thread in self.threads:
            thread.join(10)

    # --- Work ----------------------------------------------------------------------------------------------------------

    def compare(self, index, data, least):
        """True if a value is right. Otherwise it is noted."""
        found = self.ledger.problem(index, data, least)
        self.compared += 1
        if found:
            self.wrong.append(found)
        return not found

    def read(self, number, clients, random):
        while (phase := self.enter()) is not None:
            index = self.zipf.rank(random.random())
            route, key, owner = self.route(index), self.ledger.keys[index], self.owners[index]
            least = self.ledger.acknowledged[index]
            outcome, data = clients.get(route, key)
            if outcome == HIT:
                self.compare(index, data, least)
            elif route == EJECTING:
                # The origin's value has the only version.
                clients.put(route, owner, key, values.content(key, 1))
            self.leave(phase, route, owner, outcome, is_get=True)

    def put(self, clients, index, phase):
        """Puts the next version, and returns the outcome."""
        route, key, owner = self.route(index), self.ledger.keys[index], self.owners[index]
        version = self.ledger.acknowledged[index] + 1
        self.ledger.started[index] = max(version, self.ledger.started[index])
        outcome = clients.put(route, owner, key, values.content(key, version))
        if outcome == HIT:
            self.ledger.acknowledge(index, version)
            self.ledger.uncertain.discard(index)
        is_whole = self.leave(phase, route, owner, outcome, is_get=False)
        if outcome != HIT and not (is_whole and phase == "down"):
            self.ledger.uncertain.add(index)
        if route == EJECTING and not (is_whole and phase in ("before", "after")):
            self.ledger.elsewhere.add(index)

    def write(self, number, clients, random):
        turn = number - READERS
        while (phase := self.enter()) is not None:
            # The writers' keys are distinct, so each key has one writer.
            index = random.randrange(turn, self.count, WRITERS)
            if self.route(index) == EJECTING:
                with self.condition:
                    while self.route(len(self.ledger.keys)) != EJECTING:
                        self.owners.append(self.owner_of_filler())
                    index = self.ledger.add(key_of(len(self.ledger.keys)))
                    self.owners.append(self.owner(index))
            self.put(clients, index, phase)
            if phase != KILL:
                time.sleep(PAUSE)

    def owner_of_filler(self):
        """Adds a key that is never put, and returns its owner. The key after it belongs to the next route."""
        return self.owner(self.ledger.add(key_of(len(self.ledger.keys))))

    def load(self):
        """Puts all keys, and returns the number of values by node: expected by the rings, and stored."""
        def work(number, clients):
            for index in range(number, self.count, READERS):
                route, key, owner = self.route(index), self.ledger.keys[index], self.owners[index]
                self.ledger.started[index] = 1
                data = values.content(key, 1)
                if patient(lambda: clients.put(route, owner, key, data)) != HIT:
                    raise nodes.Failure(f"a put of {key} over {route} was refused while all nodes were up")
                self.ledger.acknowledge(index, 1)
        self.parallel(READERS, work)
        placement = {}
        for node, name in enumerate(nodes.NAMES):
            client = self.cluster.client(node)
            statistics = client.statistics()
            client.close()
            if not statistics:
                raise nodes.Failure(f"{name} does not answer")
            placement[name] = {"expected": self.owners.count(node), "stored": int(statistics["curr_items"])}
        return placement

    def audit(self, only=None, since=0.0):
        """Reads every acknowledged value: those of one node from this node, or all through the proxies. The threads rest.
        `recent` counts those acknowledged since a time."""
        found = {"acknowledged": 0, "kept": 0, "recent": 0, "lost": 0, "uncertain": 0, "uncertain_kept": 0, "moved": 0,
                 "examples": []}
        lock = threading.Lock()

        def work(number, clients):
            for index in range(number, len(self.ledger.keys), READERS):
                owner = self.owners[index]
                if not self.ledger.started[index] or only is not None and owner != only:
                    continue
                key, route, least = self.ledger.keys[index], self.route(index), self.ledger.acknowledged[index]
                outcome, data = patient(
                    lambda: clients.get(route, key) if only is None else clients.direct[owner].get(key))
                if outcome == HIT:
                    self.compare(index, data, least)
                with lock:
                    if index in self.ledger.elsewhere:
                        found["moved"] += outcome != HIT
                    elif index in self.ledger.uncertain:
                        found["uncertain"] += 1
                        found["uncertain_kept"] += outcome == HIT
                    elif least:
                        found["acknowledged"] += 1
                        found["kept"] += outcome == HIT
                        found["recent"] += self.ledger.times[index] >= since
                        if outcome != HIT:
                            found["lost"] += 1
                            found["examples"] = (found["examples"] + [f"{key} ({outcome})"])[:5]
        self.parallel(READERS, work)
        return found
