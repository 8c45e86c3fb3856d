"""The nodes' switches, for a person at a shell: ``$NODES kill node-1``. The cluster's owner turns them."""

import socketserver
import sys
import threading
from types import TracebackType
from typing import Self

from tests.testbed.kube import KubeCluster

# Stands alone, in a file of its own: the shell that runs it need not find this package, nor understand quotes.
ASK = """
import socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect(sys.argv[1])
    line.sendall(" ".join(sys.argv[2:]).encode())
    line.shutdown(socket.SHUT_WR)
    answer = line.makefile().read()
print(answer)
sys.exit(answer != "done")
"""


class Switch:
    """Listens as long as its block lasts; `command` is what a shell runs, followed by `kill NODE` or `start NODE`."""

    def __init__(self, cluster: KubeCluster) -> None:
        actions = {"kill": cluster.kill_node, "start": cluster.start_node}
        self._path = path = cluster.folder / "switch"

        class Turn(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                asked = self.rfile.read(200).decode(errors="replace").split()
                if len(asked) != 2 or asked[0] not in actions or asked[1] not in cluster.nodes:
                    self.wfile.write(f"say `kill` or `start`, and one of {', '.join(cluster.nodes)}".encode())
                    return
                actions[asked[0]](asked[1])
                self.wfile.write(b"done")

        script = cluster.folder / "switch.py"
        script.write_text(ASK)
        self.command = [sys.executable, str(script), str(path)]
        self._server = socketserver.UnixStreamServer(str(path), Turn)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._path.unlink(missing_ok=True)
        self._thread.join()
