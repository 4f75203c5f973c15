"""A cluster of two nodes, one of which is taken away in the middle of a command: a process of its own."""

import logging
import sys
import threading

from advcli.common.errors import AdvcliError
from advcli.distributed import cluster, commands
from advcli.distributed.files import write
from advcli.pipeline.compute import Output
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions


def main() -> None:
    """Arguments: the folder to write into, and the inputs."""
    from ray.cluster_utils import Cluster

    out, *inputs = sys.argv[1:]
    cluster.require()
    logging.disable()
    size = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}
    nodes = Cluster(initialize_head=True, head_node_args=size)
    second = nodes.add_node(num_cpus=2, object_store_memory=100 << 20)
    nodes.wait_for_nodes()
    numbered = write.numbered

    def removed(*given):
        # Everything is computed and about to be written: much of it lies on the second node.
        found = numbered(*given)
        nodes.remove_node(second, allow_graceful=False)
        print("a node was removed", flush=True)
        return found

    write.numbered = removed
    request = Request(tuple(inputs), Settings(scale="batch"), ColumnOptions(), ray_address=nodes.address)
    code = 0
    try:
        commands.compute(request, Output(out=out))
    except AdvcliError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        code = error.exit_code
    watchdog = threading.Timer(20, lambda: sys.exit(code))
    watchdog.daemon = True
    watchdog.start()
    nodes.shutdown()
    sys.exit(code)


if __name__ == "__main__":
    main()
