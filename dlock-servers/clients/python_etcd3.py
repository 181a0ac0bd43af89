"""python-etcd3's Lock: see README.md."""

import sys

import etcd3
from peer import serve

# A client misses a release between its try and its watch, and then waits to the end of its timeout.
WAIT_SECONDS = 1

host, port = sys.argv[1].rsplit(":", 1)
client = etcd3.client(host=host, port=int(port))
client.status()


def acquire(name, waits):
    lock = client.lock(name, ttl=int(sys.argv[2]))
    acquired = lock.acquire(timeout=0)
    while waits and not acquired:
        acquired = lock.acquire(timeout=WAIT_SECONDS)
    return lock if acquired else None


serve(acquire, lambda lock: lock.release(), lambda lock: lock.is_acquired())
