"""A daemon for a test: the command that the build made, on a port and a socket that nobody else has."""

from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import tidegate

ROOT = Path(__file__).resolve().parents[2]
COMMAND = os.environ.get("TIDEGATE", str(ROOT / "target" / "debug" / "tidegate"))


class Daemon:
    """A daemon that runs until it is ended."""

    def __init__(self, *arguments: str, listen: str = "127.0.0.1:0") -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="tidegate-python-")
        self.socket = Path(self.folder.name) / "control"
        command = [COMMAND, "daemon", "--listen", listen, "--socket", str(self.socket), *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip().rpartition(" ")[2]
        if not self.address:
            _, errors = self.process.communicate(timeout=30)
            self.folder.cleanup()
            raise AssertionError(f"{command} said: {errors}")

    def end(self) -> int:
        """Ends it as a supervisor does, and gives its exit status."""
        self.process.terminate()
        try:
            self.process.communicate(timeout=30)
        finally:
            self.process.kill()
            self.folder.cleanup()
        return self.process.returncode


class WithDaemon(unittest.TestCase):
    """Tests that share a daemon; each finds it empty."""

    daemon: Daemon
    client: tidegate.Client

    @classmethod
    def setUpClass(cls) -> None:
        cls.daemon = Daemon()
        cls.client = tidegate.Client(cls.daemon.address)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.client.close()
        status = cls.daemon.end()
        assert status == 0, f"the daemon ended with {status}"

    def setUp(self) -> None:
        self.client.reset()
