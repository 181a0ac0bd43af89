"""redis-py's Lock: its connection pool is shared by the threads."""

import sys

import redis
from workloads import serve

host, port = sys.argv[1].rsplit(":", 1)


def connect():
    client = redis.Redis(host=host, port=int(port))
    client.ping()
    # A lock keeps its value for the thread that acquired it; here another thread may release it.
    return lambda name: client.lock(name, timeout=30, thread_local=False)


serve(redis.__version__, connect)
