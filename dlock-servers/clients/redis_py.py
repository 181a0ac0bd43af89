"""redis-py's Lock: see README.md."""

import sys

import redis
from peer import serve

host, port = sys.argv[1].rsplit(":", 1)
client = redis.Redis(host=host, port=int(port))
client.ping()


def acquire(name, waits):
    lock = client.lock(name, timeout=float(sys.argv[2]), sleep=0.05)
    return lock if lock.acquire(blocking=waits) else None


def release(lock):
    lock.release()
    return True


serve(acquire, release)
