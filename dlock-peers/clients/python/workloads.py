"""The lines and workloads of the README, by threads."""

import json
import random
import sys
import threading
import time


def serve(version, connect):
    """Reads requests to the end of the input.

    `connect()` makes a client: a function that makes the lock of a name, which has `acquire()` and `release()`.
    """
    client = connect()
    print("ready", flush=True)
    for line in sys.stdin:
        verb, *words = line.split()
        if verb == "version":
            answer = {"version": version}
        elif verb == "cycles":
            answer = cycles(client, int(words[0]), float(words[1]))
        elif verb == "handover":
            answer = hand_over(connect, float(words[0]))
        else:
            answer = contend(connect, int(words[0]), float(words[1]))
        print(json.dumps(answer), flush=True)


def run_all(work, arguments):
    """Runs `work` with each of the arguments, in a thread each; the results."""
    results = []
    threads = [threading.Thread(target=lambda a=a: results.append(work(a))) for a in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def cycles(client, tasks, seconds):
    locks = [client(f"peers-{task}") for task in range(tasks)]
    begin = time.monotonic()

    def repeat(lock):
        count = 0
        while time.monotonic() < begin + seconds:
            lock.acquire()
            lock.release()
            count += 1
        return count

    return {"cycles": sum(run_all(repeat, locks)), "seconds": time.monotonic() - begin}


def hand_over(connect, seconds):
    holder, waiter = (connect()("peers-hand-over") for _ in range(2))
    end = time.monotonic() + seconds
    times = []
    holder.acquire()
    while time.monotonic() < end:
        granted = []
        waiting = threading.Thread(target=lambda: (waiter.acquire(), granted.append(time.monotonic())))
        waiting.start()
        time.sleep(random.uniform(0.1, 0.2))
        released = time.monotonic()
        holder.release()
        waiting.join()
        times.append((granted[0] - released) * 1e3)
        holder, waiter = waiter, holder
    holder.release()
    return {"hand_overs_ms": times}


def contend(connect, clients, seconds):
    locks = [connect()("peers-contended") for _ in range(clients)]
    end = time.monotonic() + seconds
    # Only the holder writes these.
    turns = {"last": None, "moved": 0}

    def share(number):
        grants, longest = 0, 0.0
        while (begin := time.monotonic()) < end:
            locks[number].acquire()
            now = time.monotonic()
            longest = max(longest, min(now, end) - begin)
            if now < end:
                grants += 1
                turns["moved"] += turns["last"] != number
                turns["last"] = number
            locks[number].release()
        return grants, longest

    shares = run_all(share, range(clients))
    return {
        "grants": [grants for grants, _ in shares],
        "moved": turns["moved"],
        "longest_wait_ms": max(longest for _, longest in shares) * 1e3,
        "seconds": seconds,
    }
