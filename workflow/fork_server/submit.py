"""Run a script of a job: as a copy of the fork server, or without it as usual.

    python -IS submit.py SOCKET PYTHON SCRIPT ...

The job has the standard streams, the folder and the environment of this process, which
waits and ends as the job does; if it is killed, so is the job. A Python other than this
one (that of a rule's conda environment), a job with more than one thread, and one that
no server answers start on their own.
"""

import json
import os
import signal
import socket
import sys


def submit(path: str, arguments: list[str]) -> int | None:
    """Exit code of the job, or none if no server took it."""
    job = {
        "arguments": arguments,
        "folder": os.getcwd(),
        "environment": dict(os.environ),
    }
    message = json.dumps(job).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
            socket.send_fds(connection, [len(message).to_bytes(8, "big")], [0, 1, 2])
            connection.sendall(message)
            taken = connection.recv(1)
        except OSError:
            return None
        if not taken:
            return None
        code = connection.recv(4)
    if len(code) < 4:
        sys.exit("the fork server ended before its job: run snakemake again")
    code = int.from_bytes(code, "big", signed=True)
    return code if code >= 0 else 128 - code


def main(path: str, python: str, *arguments: str) -> None:
    """Hand the script over, or start it."""
    # From the terminal, Ctrl-C reaches the job as well, which tells what it does of it.
    interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)
    if python == sys.executable and os.environ.get("OMP_NUM_THREADS") == "1":
        code = submit(path, list(arguments))
        if code is not None:
            sys.exit(code)
    signal.signal(signal.SIGINT, interrupted)
    os.execvp(python, [python, *arguments])


if __name__ == "__main__":
    main(*sys.argv[1:])
