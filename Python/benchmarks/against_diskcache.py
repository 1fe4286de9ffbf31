"""Compares vitrine.diskcache with diskcache on the mix of diskcache's own benchmark, tests/benchmark_core.py.

The mix is 90 % get, 9 % set and 1 % delete of 100 keys, with values of 1 to 495 bytes. diskcache's benchmark runs it in
8 processes. Only one process may write a folder of Vitrine, so this one runs it in one thread and in several threads of
one process. The rounds of both caches alternate. Both have their default settings: no change waits for the disk.

usage: python against_diskcache.py [--operations N] [--threads N] [--rounds N] [--objects] [--folder FOLDER]
"""
import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import diskcache
import vitrine
import vitrine.diskcache
from vitrine import _vitrine

KEYS = 100
WARMUP = 1000
CACHES = {"vitrine": vitrine.diskcache.Cache, "diskcache": diskcache.Cache}
ACTIONS = ("get", "set", "delete")


def work(cache, seed, operations, objects, timings):
    """Runs a part of the mix and appends the nanoseconds of each operation."""
    choices = random.Random(seed)
    clock = time.perf_counter_ns
    for count in range(operations + WARMUP):
        key = str(choices.randrange(KEYS)).encode()
        value = str(count).encode() * choices.randrange(1, 100)
        if objects:
            value = {"count": count, "value": value}
        choice = choices.random()
        if choice < 0.900:
            action, start = "get", clock()
            cache.get(key)
        elif choice < 0.990:
            action, start = "set", clock()
            cache.set(key, value, retry=True)
        else:
            action, start = "delete", clock()
            cache.delete(key, retry=True)
        end = clock()
        if count >= WARMUP:
            timings[action].append(end - start)


def run(make, folder, threads, operations, objects):
    """Runs the mix on a new cache. Returns the sorted nanoseconds of each action, and the seconds of all operations."""
    shutil.rmtree(folder, ignore_errors=True)
    cache = make(str(folder))
    for key in range(KEYS):
        cache.set(str(key).encode(), str(key).encode())
    parts = [{action: [] for action in ACTIONS} for _ in range(threads)]
    workers = [
        threading.Thread(target=work, args=(cache, seed, operations // threads, objects, parts[seed]))
        for seed in range(threads)]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - start
    cache.close()
    shutil.rmtree(folder)
    return {action: sorted(time for part in parts for time in part[action]) for action in ACTIONS}, seconds


def compare(folder, threads, options):
    """Prints the medians of the rounds for one number of threads."""
    rounds = {name: [] for name in CACHES}
    for number in range(options.rounds):
        # Each cache is the first in every other round.
        for name in list(CACHES)[::-1 if number % 2 else 1]:
            rounds[name].append(run(CACHES[name], folder, threads, options.operations, options.objects))

    def median(name, measure):
        return statistics.median(measure(times, seconds) for times, seconds in rounds[name])

    print(f"\n{threads} thread{'s' if threads > 1 else ''}, medians of {options.rounds} rounds")
    print(f"{'':24}{'vitrine':>12}{'diskcache':>12}{'ratio':>8}")
    for action in ACTIONS:
        for label, part in (("median", 0.5), ("99th percentile", 0.99)):
            mine, theirs = (
                median(name, lambda times, _: times[action][int(len(times[action]) * part)] / 1000) for name in CACHES)
            print(f"{action + ', ' + label:24}{mine:9.2f} us{theirs:9.2f} us{theirs / mine:7.1f}x")
    mine, theirs = (median(name, lambda _, seconds: seconds) for name in CACHES)
    print(f"{'whole run':24}{mine:10.2f} s{theirs:10.2f} s{theirs / mine:7.1f}x")


def compare_with_empty_call(folder):
    """Prints the cost of a get of the mapping beside that of an empty call into C."""
    # Short batches, so that most of them run without an interruption by another process.
    batches, calls = 1000, 200
    with vitrine.Cache(folder) as cache:
        cache["key"] = random.Random(1).randbytes(64 << 10)
        cache["key"]
        empty, clock = _vitrine._empty_call, time.perf_counter_ns
        empty_times, get_times = [], []
        for _ in range(batches):
            start = clock()
            for _ in range(calls):
                empty("key")
            middle = clock()
            for _ in range(calls):
                cache["key"]
            end = clock()
            empty_times.append((middle - start) / calls)
            get_times.append((end - middle) / calls)
    shutil.rmtree(folder)
    print(f"\na view of 64 KiB, medians of {batches} batches of {calls} calls")
    print(f"{'empty call into C':24}{statistics.median(empty_times):9.0f} ns")
    print(f"{'cache[key]':24}{statistics.median(get_times):9.0f} ns")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--operations", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--objects", action="store_true", help="dictionaries, which are pickled, instead of bytes")
    parser.add_argument("--folder", help="where the caches are made; a temporary folder without it")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"Python {sys.version.split()[0]}, vitrine {vitrine.__version__}, diskcache {diskcache.__version__}")
    print(f"{os.cpu_count()} processors, load {load:.1f} before the run")
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        folder = Path(temporary) / "cache"
        compare(folder, 1, options)
        if options.threads > 1:
            compare(folder, options.threads, options)
        compare_with_empty_call(folder)
    print(f"\nload {os.getloadavg()[0]:.1f} after the run")


if __name__ == "__main__":
    main()
