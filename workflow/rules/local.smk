# How jobs are started where Snakemake runs them itself, not an executor elsewhere.

import atexit
import shlex
import socket
import subprocess
import sys


def start_fork_server():
    """Let scripts start as copies of one process that has imported the libraries."""
    least, jobs = config["fork_server"], sum(1 for _ in workflow.dag.needrun_jobs())
    if not (workflow.local_exec and sys.platform == "linux" and 0 < least <= jobs):
        return
    folder = Path(workflow.basedir, "workflow", "fork_server")
    # Relative, because the path of a socket has at most 107 characters.
    path = Path(".snakemake", f"fork_server.{os.getpid()}")
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        number = listener.fileno()
        # It ends with this process, which holds the other end of its input.
        server = subprocess.Popen(
            [sys.executable, folder / "serve.py", str(number)],
            stdin=subprocess.PIPE,
            pass_fds=[number],
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
    # Whoever measures Snakemake measures its jobs, if it waits for their parent.
    atexit.register(server.communicate)
    submit = shlex.join([sys.executable, "-IS", str(folder / "submit.py"), str(path)])
    shell.prefix(f"set -euo pipefail; {submit} ".replace("{", "{{").replace("}", "}}"))


def lift_rate_of_jobs():
    """Let cores alone be the limit of jobs, not their number per second.

    That limit makes each finished job leave a timer behind, and every tick of every timer
    looks at all inputs of all waiting jobs: after 300 jobs, half of the time of a core.
    """
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None
