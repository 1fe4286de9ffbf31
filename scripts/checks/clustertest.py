"""Tests of scripts/sharding: its rings are those of nginx and twemproxy, and its judgement finds broken promises."""
import copy, unittest

from sharding import judge, nodes, rings, values

KEYS = [f"https://images.example.org/photos/{number:06d}.jpg" for number in range(4000)]
NAMES = ["node1", "node2", "node3", "node4"]
# Owners of the first keys that nginx 1.22.1 and twemproxy 0.5.0 chose, by the configurations of Examples/cluster.
NGINX_OWNERS = [3, 3, 2, 0, 3, 0, 0, 0, 0, 1, 0, 0]
KETAMA_OWNERS = [1, 2, 1, 3, 0, 0, 2, 2, 0, 3, 2, 2]


def counts(hits, misses=0, errors=0):
    return {"hits": hits, "misses": misses, "errors": errors}


def phase(route_counts):
    return {"seconds": 1.0, "puts": 10, "refused": 0, "origin": 0, "routes": route_counts}


def good_figures():
    """Two routes and two nodes. node2 has a quarter of the gets and is down in the second phase."""
    up = {"node1": counts(7500), "node2": counts(2500)}
    return {
        "routes": ["http", "immutable"], "killed": "node2", "wrong": [], "compared": 60_000,
        "shares": {route: {"keys": 0.3, "gets": 0.25} for route in ("http", "immutable")},
        "placement": {"node1": {"expected": 70, "stored": 70}, "node2": {"expected": 30, "stored": 30}},
        "phases": {
            "before": phase({"http": up, "immutable": up}),
            "down": phase({
                "http": {"node1": counts(7500), "node2": counts(0, errors=2500)},
                "immutable": {"node1": counts(7500), "node2": counts(2000, 490, 10)}}),
            "after": phase({"http": up, "immutable": up}),
            "rolling": phase({"http": up, "immutable": {"node1": counts(7000, 500), "node2": counts(2500)}})},
        "restart": {"acknowledged": 30, "kept": 30, "lost": 0, "examples": [], "seconds": 0.1},
        "last": {"acknowledged": 100, "kept": 100, "lost": 0, "examples": []},
    }


class RingTests(unittest.TestCase):
    def test_rings_have_known_points(self):
        web = rings.nginx_ring([f"127.0.0.1:{port}" for port in nodes.WEB])
        self.assertEqual([web.owner(key) for key in KEYS[:12]], NGINX_OWNERS)
        self.assertEqual([rings.ketama_ring(NAMES).owner(key) for key in KEYS[:12]], KETAMA_OWNERS)

    def test_node_that_leaves_moves_its_keys_alone(self):
        for ring, of in ((rings.ketama_ring, NAMES), (rings.nginx_ring, [f"{name}:11211" for name in NAMES])):
            before, after = ring(of), ring(of[:3])
            for key in KEYS:
                if before.owner(key) != 3:
                    self.assertEqual(after.owner(key), before.owner(key))
            gone = sum(before.owner(key) == 3 for key in KEYS) / len(KEYS)
            self.assertAlmostEqual(rings.moved(before, after, KEYS), gone)
            self.assertTrue(0.1 < gone < 0.5, gone)

    def test_key_behind_the_last_point_belongs_to_the_first(self):
        ring = rings.Ring([(10, 0), (20, 1)], lambda data: int(data))
        self.assertEqual([ring.owner(key) for key in ("0", "10", "11", "20", "21")], [0, 0, 1, 1, 0])

    def test_arcs_are_the_shares_of_hashes(self):
        ring = rings.Ring([(1 << 30, 0), (3 << 30, 1)], None)
        self.assertEqual(rings.arcs(ring, 2), [0.5, 0.5])
        of_nodes = rings.arcs(rings.ketama_ring(NAMES), 4)
        self.assertAlmostEqual(sum(of_nodes), 1)
        sampled, _ = rings.shares([rings.ketama_ring(NAMES).owner(key) for key in KEYS[:500]], [1] * 500, 4)
        for one, other in zip(of_nodes, sampled):
            self.assertLess(abs(one - other), judge.tolerance(one, 500))

    def test_spread_of_a_ring(self):
        for make in (rings.nginx_ring, rings.ketama_ring):
            found = rings.spread(make, 20, 5)
            self.assertTrue(0.5 < found["smallest"] < 1 < found["largest"] < 2, found)
            self.assertTrue(0.1 < found["moved"] < 0.3, found)
            self.assertTrue(10 <= found["heirs"] <= 19 and 0 < found["growth"] < 0.3, found)

    def test_shares_count_keys_and_their_weights(self):
        self.assertEqual(rings.shares([0, 1, 1, 0], [4, 2, 1, 1], 2), ([0.5, 0.5], [0.625, 0.375]))

    def test_zipf_ranks_have_their_weights(self):
        zipf = rings.Zipf(3, 1.0)
        self.assertEqual([zipf.rank(fraction) for fraction in (0, 0.54, 0.55, 0.81, 0.82, 0.999)], [0, 0, 1, 1, 2, 2])
        self.assertEqual(rings.Zipf(3, 0).weights, [1, 1, 1])


class ValueTests(unittest.TestCase):
    def test_content_follows_from_key_and_version(self):
        lengths = set()
        for version in range(1, 50):
            data = values.content("k", version)
            self.assertEqual(data, values.content("k", version))
            self.assertTrue(values.LEAST <= len(data) <= values.MOST)
            lengths.add(len(data))
        self.assertGreater(len(lengths), 40)

    def test_each_kind_of_wrong_value_is_found(self):
        right = values.content("k", 3)
        self.assertIsNone(values.problem("k", right, 3, 3))
        self.assertIsNone(values.problem("k", right, 2, 4))
        damaged = right[:-1] + bytes([right[-1] ^ 1])
        for data, least, most, text in (
                (damaged, 1, 3, "wrong bytes"), (right[:-1], 1, 3, "wrong bytes"), (right + b"x", 1, 3, "wrong bytes"),
                (right, 4, 5, "was acknowledged"), (right, 1, 2, "never put"), (b"", 0, 3, "no value of this key"),
                (values.content("other", 3), 1, 3, "no value of this key")):
            self.assertIn(text, values.problem("k", data, least, most) or "")


class JudgementTests(unittest.TestCase):
    def expect(self, text, change):
        figures = copy.deepcopy(good_figures())
        change(figures)
        found = judge.failures(figures)
        self.assertTrue(any(text in failure for failure in found), f"{text!r} is not in {found}")

    def test_good_run_has_no_failure(self):
        self.assertEqual(judge.failures(good_figures()), [])

    def test_each_broken_promise_is_a_failure(self):
        def of(phase, route, node, **changed):
            return lambda figures: figures["phases"][phase]["routes"][route][node].update(changed)
        self.expect("wrong value: k", lambda figures: figures["wrong"].append("k"))
        self.expect("9 wrong values were served", lambda figures: figures["wrong"].extend("k" * 9))
        self.expect("the rings give it 30", lambda figures: figures["placement"]["node2"].update(stored=29))
        self.expect("did not restart", lambda figures: figures.update(restart=None))
        self.expect("1 acknowledged values are lost after the restart",
                    lambda figures: figures["restart"].update(lost=1, examples=["k"]))
        self.expect("no value after its restart", lambda figures: figures["restart"].update(kept=0))
        self.expect("lost at the end", lambda figures: figures["last"].update(lost=1, examples=["k"]))
        self.expect("no put was acknowledged", lambda figures: [
            phase.update(refused=10) for phase in figures["phases"].values()])
        self.expect("no value was compared", lambda figures: figures.update(compared=0))
        self.expect("no hits in phase 'after' over http", lambda figures: figures["phases"].pop("after"))
        self.expect("1 misses of values that node1 has, in phase 'down'", of("down", "http", "node1", misses=1))
        self.expect("1 misses of values that node1 has, in phase 'down'", of("down", "immutable", "node1", misses=1))
        self.expect("1 misses of values that node2 has, in phase 'after'", of("after", "http", "node2", misses=1))
        self.expect("live nodes did not answer 100 of 7600 gets", of("down", "http", "node1", errors=100))
        self.expect("1 hits of node2, which was down", of("down", "http", "node2", hits=1))
        self.expect("more than the share", of("down", "http", "node2", errors=3500))
        self.expect("1 misses while nodes restart, over http", of("rolling", "http", "node2", misses=1))
        self.expect("no hits while nodes restart", lambda figures: figures["phases"]["rolling"]["routes"].update(
            http={"node1": counts(0, errors=3)}))
        self.expect("less than the share", of("down", "http", "node2", errors=1500))
        self.expect("more than the share", of("down", "immutable", "node2", hits=0, misses=4000))

    def test_few_unanswered_gets_are_no_failure(self):
        figures = good_figures()
        figures["phases"]["down"]["routes"]["http"]["node1"]["errors"] = 70
        self.assertEqual(judge.failures(figures), [])

    def test_tolerance_shrinks_with_the_gets(self):
        self.assertAlmostEqual(judge.tolerance(0.5, 10_000), 0.025)
        self.assertGreater(judge.tolerance(0, 100), 0)

    def test_tables_show_each_phase_and_route(self):
        phases, falls = judge.phase_table(good_figures()), judge.share_table(good_figures())
        self.assertEqual([line.split()[0] for line in phases.splitlines()], ["phase", "before", "down", "after", "rolling"])
        self.assertIn("25.0%          25.0%", falls)


class ConfigurationTests(unittest.TestCase):
    def test_ports_of_the_examples_are_those_of_the_script(self):
        ports = {port: port + 20_000 for port in nodes.PORTS}
        for name, used in (("nginx.conf", [*nodes.MEMCACHED, *nodes.WEB, nodes.NGINX]),
                           ("nutcracker.yml", [*nodes.MEMCACHED, nodes.CACHE, nodes.IMMUTABLE])):
            text = (nodes.EXAMPLES / name).read_text()
            for port in used:
                self.assertIn(f"127.0.0.1:{port}", text)
                self.assertNotIn(f"127.0.0.1:{port}", nodes.with_ports(text, ports))
                self.assertIn(f"127.0.0.1:{port + 20_000}", nodes.with_ports(text, ports))

    def test_other_numbers_of_a_configuration_stay(self):
        self.assertEqual(nodes.with_ports("timeout: 2000 113111 127.0.0.1:11311:1", {11311: 5}),
                         "timeout: 2000 113111 127.0.0.1:5:1")


