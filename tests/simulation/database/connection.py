"""A connection of the model database, its transaction, and how it changes rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.database.locks import Locker
from simulation.database.settings import Commit
from simulation.history import Change, Place, Row, place_of

from paraply.errors import ApplyFailed, ConnectionLost, TemporaryFailure
from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.database.database import Database
    from simulation.database.settings import LockName

    from paraply.targets.progress.file_ledger import PositionRow

__all__ = ["Connection"]


class Connection(Locker):
    """One connection and its transaction."""

    def __init__(self, database: Database, number: int) -> None:
        super().__init__(database, number)
        self.dies_at = 0.0
        self.part_rows = 0
        """Row changes of a prepared part."""
        self.changes: dict[Place, Row | None] = {}
        self.words: dict[str, int | None] = {}
        self.arrived: set[Place] = set()
        """Places at which it has inserted rows."""
        self.before_entry: Callable[[], None] = lambda: None
        """Called before a new entry of the unique key."""
        self._mysql = database.settings.locking == "mysql"
        self._postgresql = database.settings.locking == "postgresql"

    def change(self, change: Change) -> bool:
        """Carry out a change; return False if the row before it was another one.

        A statement that fails leaves the transaction as before it; its locks stay, except on rows that do not exist. In PostgreSQL the
        whole transaction ends.

        Raises:
            TemporaryFailure: A lock cannot be had.
            ApplyFailed: The row is missing, or a key is taken.
        """
        rows, words, held = dict(self.changes), dict(self.words), len(self.held)
        try:
            return self._change(change)
        except (ApplyFailed, TemporaryFailure) as error:
            if self._postgresql and not (isinstance(error, ApplyFailed) and error.message.startswith("no row")):
                self.release()
            elif self.held:
                self.changes, self.words = rows, words
                for name in self.held[held:]:
                    if self._vanishes(name):
                        self.unlock(name)
            raise

    def change_newest(self, change: Change) -> None:
        """Carry out a change of a table with times, unless the row has a newer one."""
        row = change.after or change.before
        assert row is not None
        place = place_of(change.table, row)
        self.lock(place, exclusive=True)
        self._gap(change.table, row)
        found = self.row(place)
        if (found is None and change.after is not None) or (found is not None and int(found[1]) <= int(row[1])):
            if found is None:
                self.arrived.add(place)
            self.changes[place] = change.after

    def _vanishes(self, name: LockName) -> bool:
        """Return True if a lock of a failed statement goes with its changes: that of a row that is not there, or of a changed entry."""
        if name[0] in self.database.tables:
            return self.row(name) is None and name not in self.changes  # type: ignore[arg-type]
        return name[0] in ("unique", "entry of child") and self.database.locks[name].holders[self]

    def _change(self, change: Change) -> bool:
        table, before, after = change.table, change.before, change.after
        found = None
        if before is not None:
            if self._postgresql and table == "parent" and after is None and self.row(place_of(table, before)) is not None:
                arrivals = self.database.arrivals.get(place_of(table, before))
                self._lock_parent(before[0])
                if arrivals != self.database.arrivals.get(place_of(table, before)):
                    raise ApplyFailed(f"no row {table} {before[0]}")
            found = self._find(place_of(table, before))
            self._gap(table, found)
        refers = table == "child" and after is not None and self._refers_anew(found, after)
        if refers and self._mysql and after is not None:
            self._check_parent(int(after[1]))
        if found is not None and table == "parent" and after is None:
            self._check_children(found[0])
        if found is not None:
            self.changes[place_of(table, found)] = None
        if after is not None and (found is None or found[0] != after[0]):
            self._claim(place_of(table, after), "duplicate key")
            self._gap(table, after)
            self.arrived.add(place_of(table, after))
        if after is not None:
            self.changes[place_of(table, after)] = after
        if table == "word" and found != after:
            self._change_word(found, after)
        if table == "child" and found != after:
            for row in (found, after):
                if row is not None and not self._postgresql:
                    self.lock(("entry of child", row[0]), exclusive=True)
        if refers and not self._mysql and after is not None:
            self._check_parent(int(after[1]))
        return found == before

    def _refers_anew(self, before: Row | None, after: Row) -> bool:
        if self._postgresql and before is not None and place_of("child", before) in self.changes:
            return True  # it looks at rows of the same transaction in any case
        if self._mysql or self._postgresql:
            return before is None or before[1] != after[1]
        return before != after

    def _find(self, place: Place) -> Row:
        """Lock a row for a change, and return it.

        Raises:
            ApplyFailed: It does not exist.
        """
        # InnoDB waits for rows that are not committed yet; PostgreSQL does not see them.
        if self.database.exists(place) or (not self._postgresql and self.is_locked(place)):
            had, arrivals = place in self.held, self.database.arrivals.get(place)
            self.lock(place, exclusive=True)
            # To PostgreSQL, a row that was deleted and inserted again is another one than that for which it waited.
            if (row := self.row(place)) is not None and (had or not self._postgresql or arrivals == self.database.arrivals.get(place)):
                return row
            if not had:
                self.unlock(place)
        elif (row := self.row(place)) is not None:
            return row
        raise ApplyFailed(f"no row {place[0]} {place[1]}")

    def _claim(self, name: LockName, what: str) -> None:
        """Lock a key for a new row.

        InnoDB takes a shared lock to look for a duplicate, and keeps it.

        Raises:
            ApplyFailed: A row has it.
        """
        if self._postgresql:
            # It waits for who changes the row, not for who only locks it.
            self._await_owner(name)
            if self._taken(name) and not self.database.is_changed(name, self):
                raise ApplyFailed(f"{what} {name[0]} {name[1]}")
        elif self.is_locked(name) or self._taken(name):
            self.lock(name, exclusive=False)
            if self._taken(name):
                raise ApplyFailed(f"{what} {name[0]} {name[1]}")
        self.lock(name, exclusive=True)
        if self._taken(name):
            raise ApplyFailed(f"{what} {name[0]} {name[1]}")

    def _await_owner(self, name: LockName) -> None:
        """Wait for a transaction that has changed the row with a unique text, perhaps without the text."""
        owner = self.word(str(name[1])) if name[0] == "unique" else None
        place = ("word", owner or 0)
        if owner is not None and place not in self.held and self.database.is_changed(name, self) and self.is_locked(place):
            self.lock(place, exclusive=False)
            self.unlock(place)

    def _taken(self, name: LockName) -> bool:
        if name[0] == "unique":
            return self.word(str(name[1])) is not None
        return self.row(name) is not None  # type: ignore[arg-type]

    def _gap(self, table: str, row: Row) -> None:
        settings, chance = self.database.settings, self.database.chance
        if settings.gaps and chance.random() < settings.gaps:
            self.lock((f"gap of {table}", row[0] // settings.gap_size), exclusive=True)

    def _change_word(self, before: Row | None, after: Row | None) -> None:
        """Change the entries of the unique key."""
        old = None if before is None else str(before[1]).lower()
        new = None if after is None else str(after[1]).lower()
        if old is not None:
            self.lock(("unique", old), exclusive=True)
            self.words[old] = None
        if new is not None and after is not None:
            self.before_entry()
            self._claim(("unique", new), "duplicate key")
            self.words[new] = after[0]

    def _check_parent(self, parent: int) -> None:
        """Hold the parent of a new child.

        Raises:
            ApplyFailed: There is none.
        """
        place = ("parent", parent)
        if self._postgresql:
            # A parent that is not committed yet is not seen; changes of its other columns do not matter.
            if self.row(place) is not None:
                self.lock(("parent key", parent), exclusive=False)
        elif self.database.exists(place) or self.is_locked(place):
            self.lock(place, exclusive=False)
        if self.row(place) is None:
            raise ApplyFailed(f"no parent {parent}")

    def _lock_parent(self, parent: int) -> None:
        """Wait for all who change a parent or refer to it, without holding one lock while it waits for the other."""
        locks = [("parent", parent), ("parent key", parent)]
        while any(self.is_locked(name) for name in locks):
            for name in locks:
                had = name in self.held
                self.lock(name, exclusive=True)
                if not had:
                    self.unlock(name)
        for name in locks:
            self.lock(name, exclusive=True)

    def _check_children(self, parent: int) -> None:
        """Look for children of a parent that goes.

        Raises:
            ApplyFailed: There are some.
        """
        while (child := self._child_of(parent)) is not None:
            place = ("child", child)
            if place in self.changes or (self._postgresql and not self.database.goes(place, self)):
                raise ApplyFailed(f"parent {parent} has children")
            name: LockName = place if self._postgresql else ("entry of child", child)
            had = name in self.held
            self.lock(name, exclusive=False)
            if not had and self.row(place) is None:
                self.unlock(name)
            if (row := self.row(place)) is not None and row[1] == parent:
                raise ApplyFailed(f"parent {parent} has children")

    def _child_of(self, parent: int) -> int | None:
        """Return a child as this transaction sees it: an own one, or the first one in the index."""
        mine = {place[1]: row for place, row in self.changes.items() if place[0] == "child"}
        if (found := next((number for number, row in mine.items() if row is not None and row[1] == parent), None)) is not None:
            return found
        others = [number for number in self.database.children.get(parent, ()) if number not in mine]
        return min(others, default=None)

    def row(self, place: Place) -> Row | None:
        """Return a row as this transaction sees it."""
        return self.changes[place] if place in self.changes else self.database.rows.get(place)

    def word(self, text: str) -> int | None:
        """Return the owner of a unique text as this transaction sees it."""
        return self.words[text] if text in self.words else self.database.words.get(text)

    def commit(self, numbers: list[int], slot: int, progress: PositionRow) -> None:
        """Make the transaction visible, and release its locks."""
        database = self.database
        commit = Commit(numbers, database.write(self), (slot, database.slots.get(slot)))
        database.slots[slot] = progress
        database.commits.append(commit)
        self.release()
        database.on_commit(commit)
        database.notify_readers()

    def release(self) -> None:
        """End the transaction without its changes, and release its locks."""
        self.changes.clear()
        self.words.clear()
        self.arrived.clear()
        self.release_locks()

    def lose(self) -> None:
        """Lose the connection; the server may notice it later, and hold the locks until then.

        Raises:
            ConnectionLost: Always.
        """
        database = self.database
        self.broken = True
        if database.chance.random() < database.settings.zombies:
            self.dies_at = runtime.monotonic() + database.chance.uniform(0, database.settings.lock_timeout * 2)
            database.zombies.append(self)
        else:
            self.release()
        raise ConnectionLost("the server has gone away")
