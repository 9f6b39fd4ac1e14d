"""A project to which something happens, and how to catch a job at work."""

import contextlib
import signal
import subprocess
import time
from dataclasses import dataclass

import psutil
from project import Project

FOLDER = "results/stochastic_lagrangian/harmonic"
OBSERVATIONS = f"{FOLDER}/observations.nc"
DERIVATIVES = f"{FOLDER}/published/derivatives.nc"
# Many small replicates: a job writes for long enough to be caught at it.
SMALL = {
    "replicates": 16,
    "examples": {
        "stochastic_lagrangian": {
            "harmonic": {"simulate": {"duration": 0.05, "trajectories": 20}}
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
        assert self.digests() == self.undisturbed
        assert not list((self.folder / "results").rglob(".*.part"))

    def has_nothing_to_do(self) -> None:
        """Snakemake finds everything up to date."""
        result = self.make("--dry-run")
        assert "Nothing to be done" in result.stdout + result.stderr

    def without(self, *paths: str) -> None:
        for path in paths:
            (self.folder / path).unlink()

    @contextlib.contextmanager
    def caught(self):
        """(snakemake, worker) while the worker is stopped amid writing observations."""
        with open(self.folder / "caught.txt", "w") as told:
            process = self.start(
                self.target, "--cores", "1", stdout=told, stderr=subprocess.STDOUT
            )
            try:
                self._writing()
                worker = self._worker(process)
                worker.send_signal(signal.SIGSTOP)
                assert not (self.folder / OBSERVATIONS).exists()
                yield process, worker
            finally:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                process.wait()

    def told(self) -> str:
        """What the Snakemake of `caught` said."""
        return (self.folder / "caught.txt").read_text()

    def _writing(self) -> None:
        end = time.monotonic() + 60
        while not list((self.folder / FOLDER).glob(".observations.nc.*.part")):
            assert time.monotonic() < end, self.told()
            time.sleep(0.002)

    @staticmethod
    def _worker(process: subprocess.Popen) -> psutil.Process:
        for child in psutil.Process(process.pid).children(recursive=True):
            words = child.cmdline()
            if "bash" not in words[0] and words[-1].endswith("simulate.py"):
                return child
        raise AssertionError("no job is running")
