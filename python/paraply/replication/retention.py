"""Removal of a relay log's files: by age, by size, and by what the replicas have."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraply._native import GtidSet, log_head, purge_relay_log
from paraply.errors import ParaplyError, UsageError
from paraply.replication.state_file import write_state
from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from paraply._native import LogServer, NumberedFile

__all__ = ["Retention"]

_REGISTERED = "replicas.json"


@dataclass(slots=True)
class Retention:
    """Rule for which files of a relay log are removed. The newest file stays, and so does a file that a replica is reading.

    Attributes:
        folder: Folder of the relay log.
        seconds: Age of a file's last change after which it is removed; None for no limit.
        bytes: Size of all files above which the oldest are removed; None for no limit.
        received: True to remove what every registered replica has.
    """

    folder: Path
    seconds: float | None = None
    bytes: int | None = None
    received: bool = False
    _known: dict[str, str] = field(default_factory=dict)
    _loaded: bool = False

    def record_new(self, server: LogServer) -> None:
        """Record the replicas that have just come; a server with this rule sends them nothing before that.

        Raises:
            ParaplyError: The list cannot be written.
        """
        if not self.received:
            return
        new = [replica for replica in server.replicas() if not replica["recorded"]]
        if new:
            self._note(server.files(), new)
            server.recorded([int(replica["connection_id"]) for replica in new])

    def apply(self, server: LogServer, newest: int | None = None) -> list[Path]:
        """Remove the files that are not kept, and return their paths.

        Args:
            server: The server that sends the files.
            newest: Number of the newest file that may become the oldest one; None for no limit.

        Raises:
            UsageError: The list of the replicas cannot be read.
            ParaplyError: The list cannot be written.
        """
        files = server.files()
        replicas = server.replicas()
        self._note(files, [*server.left(), *replicas])
        reading = min([files[-1].number if newest is None else newest, *(int(replica["log_number"]) for replica in replicas)])
        candidates = [file for file in files[:-1] if file.number < reading]
        count = max(self._by_age(candidates), self._by_size(files, len(candidates)), self._by_replicas(files, len(candidates)))
        return purge_relay_log(self.folder, files[count].path) if count else []

    def _by_age(self, candidates: Sequence[NumberedFile]) -> int:
        if self.seconds is None:
            return 0
        oldest = runtime.now() - self.seconds
        count = 0
        for file in candidates:
            if file.path.stat().st_mtime >= oldest:
                break
            count += 1
        return count

    def _by_size(self, files: Sequence[NumberedFile], most: int) -> int:
        if self.bytes is None:
            return 0
        sizes = [file.path.stat().st_size for file in files]
        total, count = sum(sizes), 0
        while total > self.bytes and count < most:
            total -= sizes[count]
            count += 1
        return count

    def _by_replicas(self, files: Sequence[NumberedFile], most: int) -> int:
        """Return the number of files before which every registered replica has everything."""
        if not self.received or not self._known:
            return 0
        held = [GtidSet(text) for text in self._known.values()]
        for count in range(most, 0, -1):
            before = log_head(str(files[count].path)).previous_gtids
            if before is not None and all(before <= one for one in held):
                return count
        return 0

    def _note(self, files: Sequence[NumberedFile], replicas: Sequence[Mapping[str, Any]]) -> None:
        """Record what each replica has for certain: what it had when it came, and files of which much later bytes were sent.

        What was sent last may still be on its way.
        """
        if not self.received:
            return
        self._load()
        known = dict(self._known)
        for replica in replicas:
            if not replica["uuid"]:
                continue
            if replica["received"] is None:  # read by file and position: what it has is not known
                known[str(replica["uuid"])] = ""
                continue
            held = GtidSet(str(replica["received"]))
            reached = next((file for number, file in files if number == replica["received_before"]), None)
            before = log_head(str(reached)).previous_gtids if reached is not None else None
            known[str(replica["uuid"])] = str(held | before) if before is not None else str(held)
        if known != self._known:
            write_state(self.folder / _REGISTERED, json.dumps(known, indent=1))
            self._known = known

    def _load(self) -> None:
        """Read the list of an earlier process."""
        if self._loaded:
            return
        path = self.folder / _REGISTERED
        try:
            if path.exists():
                known = dict(json.loads(path.read_text(encoding="utf-8")))
                self._known = {uuid: str(GtidSet(received)) for uuid, received in known.items()}
        except (OSError, ValueError, TypeError, ParaplyError) as error:
            raise UsageError(
                f"the list of replicas {path} cannot be read: {error}; mend it, or write it anew with the UUID of every replica, as in"
                ' {"UUID": ""}, which keeps all files until each of them has come',
                file=str(path),
            ) from None
        self._loaded = True
