"""Jobs as copies of the fork server: as if each had been started on its own."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

FOLDER = Path(__file__).parents[2] / "workflow" / "fork_server"
SERVE = f"""
import sys
sys.path.insert(0, {str(FOLDER)!r})
import serve
serve.LIBRARIES = ()
serve.main()
"""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the fork server is for Linux"
)


class Project:
    """The working folder with a server, and scripts that are submitted to it."""

    def __init__(self, folder: Path):
        self.folder = folder
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("server")
            listener.listen()
            self.server = subprocess.Popen(
                [sys.executable, "-c", SERVE, str(listener.fileno())],
                env={**os.environ, "OF_THE_SERVER": "1"},
                stdin=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=[listener.fileno()],
            )

    def submit(self, text: str, *arguments: str, **environment: str):
        script = self.folder / "tmp1.job.py"
        script.write_text(text)
        (self.folder / "here").mkdir(exist_ok=True)
        submit = [sys.executable, "-IS", FOLDER / "submit.py"]
        return subprocess.Popen(
            [*submit, "../server", sys.executable, script, *arguments],
            cwd=self.folder / "here",
            env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def job(self) -> psutil.Process:
        """The one job of the server, once its script is at work."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if (self.folder / "here" / "working").exists():
                return psutil.Process(self.server.pid).children()[0]
            time.sleep(0.01)
        raise AssertionError("the job has not started")


WORK = """
import time
from pathlib import Path
Path("working").touch()
while not Path("enough").exists():
    time.sleep(0.01)
print("worked")
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path)
    yield made
    made.server.kill()
    made.server.wait()


def gone(process: psutil.Process) -> bool:
    try:
        process.wait(20)
    except psutil.TimeoutExpired:
        return False
    return True


def test_a_job_has_the_streams_folder_environment_and_arguments_of_its_client(project):
    script = """
import os, sys
print(os.getcwd(), os.environ["COLOUR"], sys.argv[1:], __name__, os.getppid())
assert "OF_THE_SERVER" not in os.environ
print("trouble", file=sys.stderr)
sys.exit(7)
"""
    client = project.submit(script, "a", "b c", COLOUR="red")
    out, err = client.communicate(timeout=60)
    here = project.folder / "here"
    assert out == f"{here} red ['a', 'b c'] __main__ {project.server.pid}\n"
    assert err == "trouble\n"
    assert client.returncode == 7


def test_a_job_leaves_nothing_for_the_next(project):
    first = "import os, sys; sys.planted = os.environ['PLANTED'] = 'yes'"
    assert project.submit(first).wait(60) == 0
    second = "import os, sys; print(hasattr(sys, 'planted'), 'PLANTED' in os.environ)"
    assert project.submit(second).communicate(timeout=60)[0] == "False False\n"


def test_jobs_work_side_by_side(project):
    jobs = [project.submit(WORK) for _ in range(3)]
    project.job()
    while len(psutil.Process(project.server.pid).children()) < 3:
        time.sleep(0.01)
    (project.folder / "here" / "enough").touch()
    assert [job.communicate(timeout=60)[0] for job in jobs] == ["worked\n"] * 3


def test_a_failure_is_told_with_its_traceback(project):
    client = project.submit("raise ValueError('no such thing')")
    assert "ValueError: no such thing" in client.communicate(timeout=60)[1]
    assert client.returncode == 1


def test_a_killed_job_ends_its_client_as_bash_would(project):
    client = project.submit(WORK)
    project.job().kill()
    assert client.wait(60) == 128 + signal.SIGKILL


def test_a_job_is_killed_with_its_client(project):
    client = project.submit(WORK)
    job = project.job()
    client.kill()
    assert gone(job)
    assert project.submit("print('next')").communicate(timeout=60)[0] == "next\n"


def test_a_client_that_dies_before_it_speaks_disturbs_nobody(project):
    for said in (b"", b"\0\0\0", bytes(7) + b"\5{"):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect("server")
            client.sendall(said)
    client = project.submit("import os; print(os.getppid())")
    assert client.communicate(timeout=60)[0] == f"{project.server.pid}\n"
    assert not psutil.Process(project.server.pid).children()


def test_a_job_is_killed_with_the_server_and_its_client_says_so(project):
    client = project.submit(WORK)
    job = project.job()
    project.server.kill()
    assert "run snakemake again" in client.communicate(timeout=60)[1]
    assert client.returncode == 1
    assert gone(job)


def test_the_server_ends_with_snakemake_after_its_last_job(project):
    client = project.submit(WORK)
    project.job()
    project.server.stdin.close()
    while (project.folder / "server").exists():
        time.sleep(0.01)
    time.sleep(0.5)
    assert project.server.poll() is None
    (project.folder / "here" / "enough").touch()
    assert client.communicate(timeout=60)[0] == "worked\n"
    assert project.server.wait(60) == 0


@pytest.mark.parametrize("reason", ["no server", "threads", "another Python"])
def test_a_job_that_is_not_for_the_server_starts_on_its_own(project, reason):
    own = "import os; print(os.getppid())"
    if reason == "no server":
        (project.folder / "server").unlink()
    environment = {"OMP_NUM_THREADS": "2"} if reason == "threads" else {}
    if reason == "another Python":
        other = project.folder / "python"
        other.symlink_to(sys.executable)
        submit = [
            sys.executable,
            "-IS",
            FOLDER / "submit.py",
            project.folder / "server",
        ]
        client = subprocess.Popen(
            [*submit, other, "-c", own], stdout=subprocess.PIPE, text=True
        )
    else:
        client = project.submit(own, **environment)
    assert client.communicate(timeout=60)[0] == f"{os.getpid()}\n"
