"""The judgement of the figures of a run, and their tables."""
import math

# Gets over a route that live nodes did not answer, as a share and as a number. More is a defect. Fewer may be a machine
# without a free processor.
ERRORS, FEW = 0.01, 5
# Of a sampled share, in standard deviations.
DEVIATIONS = 5
PHASES = ["before", "down", "after"]
# The phase in which each node restarts in turn.
ROLLING = "rolling"
# The route whose keys go to other nodes while their own is down.
EJECTING = "immutable"


def add(counts):
    """Hits, misses and errors of several nodes, as (gets, hits, misses, errors)."""
    sums = [sum(count[name] for count in counts) for name in ("hits", "misses", "errors")]
    return sum(sums), *sums


def tolerance(share, gets):
    """The difference that a sampled share of `gets` gets may have to its expectation."""
    return DEVIATIONS * math.sqrt(max(share * (1 - share), 1 / gets) / gets)


def ratio(part, whole):
    return part / whole if whole else 0.0


def fall(figures, route):
    """The measured fall of a route's hit ratio while the node was down, and the number of gets of which it was measured."""
    before, down = (add(figures["phases"][phase]["routes"][route].values()) for phase in ("before", "down"))
    return ratio(before[1], before[0]) - ratio(down[1], down[0]), down[0]


def of_phases(figures):
    """Failures in the counts of each phase."""
    killed = figures["killed"]
    for phase in PHASES:
        counts = figures["phases"].get(phase, {"routes": {}})["routes"]
        for route in figures["routes"]:
            by_node = counts.get(route, {})
            if not add(by_node.values())[1]:
                yield f"no hits in phase '{phase}' over {route}"
            live = add([count for node, count in by_node.items() if phase != "down" or node != killed])
            if live[3] > max(FEW, ERRORS * live[0]):
                yield f"live nodes did not answer {live[3]} of {live[0]} gets in phase '{phase}' over {route}"
            for node, count in by_node.items():
                hits, misses = count["hits"], count["misses"]
                is_down = phase == "down" and node == killed
                if misses and not is_down:
                    yield f"{misses} misses of values that {node} has, in phase '{phase}' over {route}"
                if hits and is_down and route != EJECTING:
                    yield f"{hits} hits of {node}, which was down, over {route}"


def of_rolling(figures):
    """Failures while nodes restart: a value may be out of reach, but not missing."""
    for route, counts in figures["phases"].get(ROLLING, {"routes": {}})["routes"].items():
        _, hits, misses, _ = add(counts.values())
        if not hits:
            yield f"no hits while nodes restart, over {route}"
        if misses and route != EJECTING:
            yield f"{misses} misses while nodes restart, over {route}"


def of_falls(figures):
    for route in figures["routes"]:
        expected = figures["shares"][route]["gets"]
        measured, gets = fall(figures, route)
        allowed = tolerance(expected, max(gets, 1))
        text = f"than the share of {figures['killed']}, {expected:.1%}"
        if measured > expected + allowed:
            yield f"hits over {route} fell by {measured:.1%}, more {text}"
        if measured < expected - allowed and route != EJECTING:
            yield f"hits over {route} fell by {measured:.1%}, less {text}"


def wrong_values(figures):
    """The first wrong values, and the number of them."""
    texts = figures["wrong"]
    return [f"wrong value: {text}" for text in texts[:5]] + ([f"{len(texts)} wrong values were served"] if texts else [])


def failures(figures):
    """All reasons why a whole run did not keep its promises."""
    found = wrong_values(figures)
    for node, count in figures["placement"].items():
        if count["stored"] != count["expected"]:
            found.append(f"{node} has {count['stored']} values, but the rings give it {count['expected']}")
    found += of_phases(figures)
    if all(phase in figures["phases"] for phase in PHASES):
        found += of_falls(figures)
    found += of_rolling(figures)
    restart = figures["restart"]
    if not restart:
        found.append(f"{figures['killed']} did not restart")
    else:
        if restart["lost"]:
            found.append(f"{restart['lost']} acknowledged values are lost after the restart of {figures['killed']}, "
                         f"such as {restart['examples'][0]}")
        if not restart["kept"]:
            found.append(f"{figures['killed']} has no value after its restart")
    last = figures["last"]
    if last and last["lost"]:
        found.append(f"{last['lost']} acknowledged values are lost at the end, such as {last['examples'][0]}")
    if not sum(phase["puts"] - phase["refused"] for phase in figures["phases"].values()):
        found.append("no put was acknowledged under load")
    if not figures["compared"]:
        found.append("no value was compared")
    return found


def table(rows):
    """Rows with the first column to the left and the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  " + "  ".join(
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows)


def phase_table(figures):
    """Hits per second of each phase, and hit ratios by node and in all."""
    names = list(figures["placement"])
    rows = [["phase", "seconds", "gets", "hits/s", *names, "all", "puts", "refused", "origin"]]
    for phase in [*PHASES, ROLLING]:
        if phase not in figures["phases"]:
            continue
        of_phase = figures["phases"][phase]
        by_node = [add([routes[node] for routes in of_phase["routes"].values()]) for node in names]
        gets, hits = sum(node[0] for node in by_node), sum(node[1] for node in by_node)
        rows.append([
            phase, f"{of_phase['seconds']:.1f}", f"{gets:,}", f"{ratio(hits, of_phase['seconds']):,.0f}",
            *(f"{ratio(node[1], node[0]):.1%}" for node in by_node), f"{ratio(hits, gets):.1%}",
            f"{of_phase['puts']:,}", f"{of_phase['refused']:,}", f"{of_phase['origin']:,}"])
    return table(rows)


def share_table(figures):
    """The expected and the measured fall of each route."""
    rows = [["route", "keys", "expected fall", "measured fall", "before", "down", "after"]]
    for route in figures["routes"]:
        share = figures["shares"][route]
        sums = [add(figures["phases"][phase]["routes"][route].values()) for phase in PHASES]
        rows.append([route, f"{share['keys']:.1%}", f"{share['gets']:.1%}", f"{fall(figures, route)[0]:.1%}",
                     *(f"{ratio(hits, gets):.1%}" for gets, hits, _, _ in sums)])
    return table(rows)
