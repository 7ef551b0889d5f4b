"""A dask cluster on this machine for as long as standard input is open; its address is the first line printed.

python cluster.py WORKERS
"""

from __future__ import annotations

import sys

from distributed import LocalCluster


def main() -> None:
    workers = int(sys.argv[1])
    with LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
