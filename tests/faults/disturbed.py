"""A project to which something happens, and how to catch a job at work."""

import contextlib
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from project import Project, Running

FOLDER = "results/stochastic_lagrangian/harmonic"
OBSERVATIONS = f"{FOLDER}/observations.nc"
MODEL = f"{FOLDER}/published/model.nc"
# What jobs write and leave, in their order.
WRITTEN = (OBSERVATIONS, MODEL, f"{FOLDER}/published/rollout.nc")
# Dropped after use; they stay if their job is the last.
TEMPORARY = "derivatives.nc", "library.nc"
# Of a worker that may end before it is stopped.
STARTS = 5
# Many small replicates: a job writes for long enough to be caught at it.
SMALL = {
    "replicates": 16,
    "examples": {
        "stochastic_lagrangian": {
            "harmonic": {
                "simulate": {"duration": 0.05, "trajectories": 20},
                "validate": {"trajectories": 10, "samples": 401},
            }
        }
    },
}


@dataclass(frozen=True)
class Disturbed(Project):
    """A project to which something happens, and what an undisturbed run gives."""

    target: str
    undisturbed: dict

    def make(self, *arguments: str) -> subprocess.CompletedProcess:
        """Run Snakemake up to the target."""
        return self.snakemake(self.target, "--cores", "1", *arguments)

    def fails(self, *words: str) -> str:
        """Run Snakemake; it has to fail, and to say `words` without a traceback."""
        result = self.make()
        text = result.stdout + result.stderr
        assert result.returncode != 0, text
        for word in words:
            assert word in text, text
        assert "Traceback" not in text, text
        return text

    def completes(self, *arguments: str) -> None:
        """Run Snakemake; then everything is as in the undisturbed run."""
        result = self.make(*arguments)
        assert result.returncode == 0, result.stdout + result.stderr
        self.is_whole()

    def is_whole(self) -> None:
        """Every file is that of the undisturbed run, and nothing else is there."""
        made = self.digests().items()
        left = {k: v for k, v in made if Path(k).name not in TEMPORARY}
        assert left == self.undisturbed
        assert not list((self.folder / "results").rglob(".*.part"))

    def without(self, *paths: str) -> None:
        for path in paths:
            (self.folder / path).unlink()

    @contextlib.contextmanager
    def caught(self, amid=None):
        """(snakemake, worker) while the worker is stopped amid writing the target.

        Or amid something else: a function of the worker tells whether it is at it. A
        worker that ends before it is stopped, on a busy machine, is started again.
        """
        for left in reversed(range(STARTS)):
            with self._started() as process:
                try:
                    worker = self._worker(process)
                    self._stop(worker, amid or self._writing)
                except psutil.NoSuchProcess:
                    if not left:
                        raise
                    process.wait()
                    self.without(self.target)
                    continue
                assert not (self.folder / self.target).exists()
                yield process, worker
                return

    @contextlib.contextmanager
    def _started(self):
        """A Snakemake on its way to the target."""
        process = self.start(self.folder / "caught.txt", self.target, "--cores", "1")
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def told(self) -> str:
        """What the Snakemake of `caught` said."""
        return (self.folder / "caught.txt").read_text()

    def _writing(self, worker: psutil.Process) -> bool:
        place = self.folder / self.target
        parts = place.parent.glob(f".{place.name}.*.part")
        return any(part.stat().st_size for part in parts)

    def _worker(self, process: Running) -> psutil.Process:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            for child in psutil.Process(process.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    words = child.cmdline() or [""]
                    if "python" in Path(words[0]).name and "/scripts/" in words[-1]:
                        return child
            time.sleep(0.02)
        raise AssertionError(self.told())

    def _stop(self, worker: psutil.Process, amid) -> None:
        """Let the worker go on in small steps until it is `amid` something."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            worker.suspend()
            while worker.status() != psutil.STATUS_STOPPED:
                time.sleep(0.001)
            if amid(worker):
                return
            worker.resume()
            time.sleep(0.005)
        raise AssertionError(self.told())
