"""Fork server: jobs start as copies of a process that has imported the libraries.

    python serve.py LISTENER        a file descriptor: a Unix socket that listens

NumPy, xarray, SymPy, SciPy, Numba and Matplotlib take two seconds to import, a fork of
a process that has them takes milliseconds. Each connection of `submit.py` is one job.
Its copy of the server takes over the file descriptors, the folder and the environment
of that process, runs the script, and ends as a process of its own: nothing of a job is
left for the next one. What belongs to this project is imported by the jobs themselves.

The server ends with standard input, that is with Snakemake, after its last job.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

LIBRARIES = (
    "jinja2",
    "jsonschema",
    "yaml",
    "pint",
    "snakemake.iocontainers",
    "snakemake.logging",
    "netCDF4",
    "pandas",
    "xarray",
    "xarray.backends.netCDF4_",
    "sympy",
    "sympy.parsing.sympy_parser",
    "sympy.physics.mechanics",
    "numba",
    "scipy.integrate",
    "scipy.interpolate",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.signal",
    "scipy.sparse",
    "scipy.sparse.linalg",
    "scipy.special",
    "scipy.stats",
    "matplotlib.figure",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
)
# Numbers of prctl(2).
SET_PARENT_DEATH_SIGNAL, SET_NAME = 1, 15
# Seconds for a client to say what it wants.
PATIENCE = 10.0


def import_libraries() -> None:
    """Import what jobs need, and let Numba make the tables it makes at first use."""
    for name in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if "numba" in sys.modules:
        sys.modules["numba"].njit(lambda x: x)(0.0)
    gc.collect()
    gc.freeze()


class Server:
    """Forks a copy of this process for each connection and tells how it ended."""

    def __init__(self, listener: socket.socket):
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._jobs = 0
        self._open = True

    def serve(self) -> dict | None:
        """Work until Snakemake has ended; in the copy for a job, return that job."""
        self._watch(self._listener, self._accept)
        self._watch(sys.stdin, self._close)
        while self._open or self._jobs:
            for key, _ in self._selector.select():
                job = key.data()
                if job:
                    return job
        return None

    def _watch(self, source, action: Callable) -> None:
        self._selector.register(source, selectors.EVENT_READ, action)

    def _close(self) -> None:
        """Accept no more jobs."""
        Path(self._listener.getsockname()).unlink(missing_ok=True)
        self._selector.unregister(sys.stdin)
        self._selector.unregister(self._listener)
        self._listener.close()
        self._open = False

    def _accept(self) -> dict | None:
        connection, _ = self._listener.accept()
        try:
            job, files = receive(connection)
            server, process = os.getpid(), os.fork()
        except (OSError, ValueError):
            # The client was killed meanwhile; or no memory: it starts on its own.
            connection.close()
            return None
        if process == 0:
            # The connections of other jobs go with the selector that watches them.
            self._selector.close()
            self._listener.close()
            connection.close()
            become(job, files, server)
            return job
        for file in files:
            os.close(file)
        handle = os.pidfd_open(process)
        self._jobs += 1
        with contextlib.suppress(OSError):
            connection.sendall(b"\0")

        def finish() -> None:
            _, status = os.waitpid(process, 0)
            self._selector.unregister(handle)
            os.close(handle)
            self._jobs -= 1
            code = os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True)
            with contextlib.suppress(OSError):
                connection.sendall(code)
            with contextlib.suppress(KeyError):
                self._selector.unregister(connection)
            connection.close()

        def abandon() -> None:
            """Its client was killed, so the job is, if it has not ended as well."""
            with contextlib.suppress(KeyError):
                self._selector.unregister(connection)
                signal.pidfd_send_signal(handle, signal.SIGKILL)

        self._watch(handle, finish)
        self._watch(connection, abandon)
        return None


def receive(connection: socket.socket) -> tuple[dict, list[int]]:
    """What a client wants to be run, and its standard streams."""
    connection.settimeout(PATIENCE)
    head, files, _, _ = socket.recv_fds(connection, 8, 3)
    with connection.makefile("rb") as stream:
        job = json.loads(stream.read(int.from_bytes(head, "big")))
    connection.settimeout(None)
    return job, files


def become(job: dict, files: list[int], server: int) -> None:
    """Take over what the client was given by Snakemake; die with the server."""
    control = ctypes.CDLL(None).prctl
    control(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != server:
        os._exit(1)
    # What `top` shows: the name of the script without Snakemake's random letters.
    control(SET_NAME, Path(job["arguments"][0]).name.split(".", 1)[-1].encode())
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(job["folder"])
    os.environ.clear()
    os.environ.update(job["environment"])
    sys.argv = job["arguments"]
    sys.path[0] = str(Path(sys.argv[0]).absolute().parent)


def main() -> None:
    """Serve; in the copy for a job, run its script."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A system without these handles of processes is told before a job relies on them.
    os.close(os.pidfd_open(os.getpid()))
    listener = socket.socket(fileno=int(sys.argv[1]))
    import_libraries()
    job = Server(listener).serve()
    if job:
        runpy.run_path(job["arguments"][0], run_name="__main__")


if __name__ == "__main__":
    main()
