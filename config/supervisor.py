"""The launcher's children as a whole: started, tended, and stopped together however the launcher ends."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from config.cluster import Cluster
from config.guardian import Guardian
from config.processes import Child, Failed, Service
from config.terminal import Interruption, say

POLL_SECONDS = 0.05


class Supervisor:
    def __init__(self, home: Path, *, interruption: Interruption) -> None:
        self._home = home
        self._pause = interruption.pause
        self._guardian = Guardian(home)
        self._services: list[Service] = []
        self._steps: list[Child] = []

    def serve(self, name: str, *command: str, needed: bool = True) -> Service:
        """Start a service, to be kept running. Only one that is needed can end the rest, by failing for good."""
        service = Service(name, command, logs=self._home / "logs", guardian=self._guardian)
        service.needed = needed
        service.start()
        self._services.append(service)
        return service

    def complete(self, name: str, *command: str) -> None:
        """Run a command to its end, the services being tended meanwhile. Raises Failed, Stop."""
        step = Child(name, command, logs=self._home / "logs", guardian=self._guardian)
        step.start()
        self._steps.append(step)
        while (status := step.poll()) is None:
            self.tend()
            self._pause(POLL_SECONDS)
        if status:
            raise Failed(f"The step '{name}' ended with status {status}:\n{step.tail()}")

    def tend(self, database: Cluster | None = None) -> None:
        """Look after services, guardian and database once. Raises Failed for what cannot be kept running."""
        for service in self._services:
            service.tend(say)
        if not self._guardian.is_alive():
            self._guardian = Guardian(self._home)
            for service in self._services:
                service.entrust(self._guardian)
        try:
            if database and database.revive():
                say(f"The database had stopped and was started again; its log is {database.log}.")
        except subprocess.CalledProcessError:
            say(f"The database does not start; its log is {database.log if database else ''}. Trying again.")

    def stop(self) -> None:
        """End every child. The guardian does it, just as if this process had been killed; we reap."""
        children = [*self._services, *self._steps]
        self._guardian.dismiss()
        while self._guardian.is_alive():
            for child in children:
                child.poll()
            time.sleep(POLL_SECONDS)
        for child in children:
            child.kill()  # for the case that the guardian itself was killed
