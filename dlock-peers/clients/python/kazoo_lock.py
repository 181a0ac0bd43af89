"""kazoo's Lock: its session is shared by the threads."""

import sys

import kazoo
from kazoo.client import KazooClient
from workloads import serve


def connect():
    client = KazooClient(hosts=sys.argv[1], timeout=30)
    client.start()
    return lambda name: client.Lock(f"/kazoo/{name}")


serve(kazoo.__version__, connect)
