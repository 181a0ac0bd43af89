"""kazoo's Lock: see README.md. Names are paths; a third argument is a pattern of other nodes that it waits for."""

import logging
import sys

from kazoo.client import KazooClient
from peer import serve

logging.basicConfig(level=logging.CRITICAL)
client = KazooClient(hosts=sys.argv[1], timeout=float(sys.argv[2]))
client.start()


def acquire(name, waits):
    lock = client.Lock(name, "a kazoo client", extra_lock_patterns=sys.argv[3:])
    return lock if lock.acquire(blocking=waits) else None


def release(lock):
    lock.release()
    return True


serve(acquire, release)
