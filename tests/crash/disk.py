"""A disk that may lose whatever was not synced: from recorded calls to the states that a power cut can leave.

Data of a file is on disk once the file was synced; a name in a folder once the folder was. Of the rest any part may be
there or not, in pieces of 4 KiB, a file's length apart from its content. Two things are taken for granted, as all file
systems with a journal give them: a rename happens as a whole, and changes of the same name happen in their order.
"""

import os
import random
from dataclasses import dataclass, field
from pathlib import Path

PIECE = 4096
MODES = ("lost", "kept", "names only", "data only", "ordered", "random", "random", "random")


@dataclass
class Names:
    """Entries of folders that change together: (folder, name) -> inode or None."""

    changes: dict
    folder: int  # whose sync makes it durable
    durable: float = float("inf")


@dataclass
class Data:
    inode: int
    offset: int
    content: bytes
    durable: float = float("inf")


@dataclass
class Size:
    inode: int
    size: int
    grows: bool  # to at least this size, as a write does
    durable: float = float("inf")


@dataclass
class Ack:
    """The process has told that something is done."""

    what: str


@dataclass
class Open:
    inode: int
    offset: int = 0
    appends: bool = False


@dataclass
class Disk:
    """The folder as it was, and what happened to it since."""

    root: Path
    acks: Path
    first: dict = field(default_factory=dict)  # inode -> bytes of a file, or names of a folder
    steps: list = field(default_factory=list)

    def __post_init__(self):
        self.root = Path(os.path.realpath(self.root))
        self.acks = Path(os.path.realpath(self.acks))
        self.now = {}  # like `first`, with everything applied
        self.open = {}  # descriptor -> Open
        self._load(self.root)
        self.first = {i: dict(c) if isinstance(c, dict) else c for i, c in self.now.items()}

    def _load(self, path):
        inode = len(self.now)
        if path.is_dir():
            self.now[inode] = {}
            for entry in sorted(path.iterdir()):
                self.now[inode][entry.name] = self._load(entry)
        else:
            self.now[inode] = path.read_bytes()
        return inode

    # --- What happened ---------------------------------------------------------------------------------------

    def replay(self, calls):
        """Take recorded calls in."""
        for name, arguments, result in calls:
            getattr(self, f"_{name}", lambda *_: None)(arguments, result)
        assert any(isinstance(step, Data) for step in self.steps), "nothing was recorded"
        return self

    def _place(self, folder, name):
        """(inode of the folder, name in it) of a path; None outside the root."""
        path = Path(os.path.join(os.fsdecode(folder), os.fsdecode(name)))
        if not path.is_relative_to(self.root):
            return None
        inode = 0
        parts = path.relative_to(self.root).parts
        for part in parts[:-1]:
            inode = self.now[inode][part]
        return (inode, parts[-1]) if parts else (None, 0)

    def _inode(self, place):
        return 0 if place[0] is None else self.now[place[0]].get(place[1])

    def _change(self, changes, folder):
        for (inode, name), target in changes.items():
            if target is None:
                self.now[inode].pop(name, None)
            else:
                self.now[inode][name] = target
        self.steps.append(Names(changes, folder))

    def _new(self, place, content):
        inode = len(self.now)
        self.now[inode] = content
        self.first[inode] = {} if isinstance(content, dict) else b""
        self._change({place: inode}, place[0])
        return inode

    def _openat(self, arguments, result):
        folder, name, flags = arguments[:3]
        if Path(os.fsdecode(name)) == self.acks:
            self.open[result] = Open(-1)
            return
        place = self._place(folder[1], name)
        if place is None:
            self.open.pop(result, None)
            return
        inode = self._inode(place)
        if inode is None:
            assert "O_CREAT" in flags, (arguments, result)
            inode = self._new(place, b"")
        elif "O_TRUNC" in flags:
            self._resize(inode, 0)
        self.open[result] = Open(inode, appends="O_APPEND" in flags)

    def _close(self, arguments, result):
        self.open.pop(arguments[0][0], None)

    def _dup(self, arguments, result):
        self.open.pop(result, None)
        if arguments[0][0] in self.open:
            self.open[result] = self.open[arguments[0][0]]

    _dup2 = _dup3 = _dup

    def _fcntl(self, arguments, result):
        if str(arguments[1]).startswith("F_DUPFD"):
            self._dup(arguments, result)

    def _lseek(self, arguments, result):
        if arguments[0][0] in self.open:
            self.open[arguments[0][0]].offset = result

    def _write(self, arguments, result):
        file = self.open.get(arguments[0][0])
        if file is None:
            return
        content = arguments[1][:result]
        if file.inode == -1:
            self.steps.extend(Ack(line) for line in content.decode().split())
            return
        offset = len(self.now[file.inode]) if file.appends else file.offset
        file.offset = offset + len(content)
        self._put(file.inode, offset, content)

    _writev = _write

    def _pwrite64(self, arguments, result):
        if (file := self.open.get(arguments[0][0])) is not None:
            self._put(file.inode, arguments[3], arguments[1][:result])

    def _unknown(self, arguments, result):
        """A call that nothing of ours has used so far: fine elsewhere, to be added here where it concerns the root."""
        paths = [part[1] if isinstance(part, tuple) else part for part in arguments]
        here = [path for path in paths if isinstance(path, bytes) and os.fsencode(self.root) in path]
        assert not here, f"not understood yet: {arguments}"

    _pwritev = _copy_file_range = _link = _linkat = _symlink = _symlinkat = _truncate = _unknown
    _open = _creat = _unknown

    def _sendfile(self, arguments, result):
        file = self.open.get(arguments[0][0])
        if file is None:
            return
        start = int(arguments[2].strip("[]").split("]")[0].split()[0])
        source = self.open.get(arguments[1][0])
        content = self.now[source.inode] if source else Path(os.fsdecode(arguments[1][1])).read_bytes()
        self._put(file.inode, file.offset, content[start : start + result])
        file.offset += result

    def _put(self, inode, offset, content):
        old = self.now[inode]
        self.now[inode] = old[:offset].ljust(offset, b"\0") + content + old[offset + len(content) :]
        self.steps.append(Size(inode, offset + len(content), grows=True))
        while content:
            length = PIECE - offset % PIECE
            self.steps.append(Data(inode, offset, content[:length]))
            offset, content = offset + length, content[length:]

    def _ftruncate(self, arguments, result):
        if (file := self.open.get(arguments[0][0])) is not None and file.inode != -1:
            self._resize(file.inode, arguments[1])

    def _fallocate(self, arguments, result):
        if (file := self.open.get(arguments[0][0])) is not None and file.inode != -1:
            mode, offset, length = arguments[1:]
            assert mode == 0, f"not understood yet: {arguments}"
            self.now[file.inode] = self.now[file.inode].ljust(offset + length, b"\0")
            self.steps.append(Size(file.inode, offset + length, grows=True))

    def _resize(self, inode, size):
        self.now[inode] = self.now[inode][:size].ljust(size, b"\0")
        self.steps.append(Size(inode, size, grows=False))

    def _fsync(self, arguments, result):
        if (file := self.open.get(arguments[0][0])) is None:
            return
        at = len(self.steps)
        for step in self.steps:
            mine = step.folder if isinstance(step, Names) else getattr(step, "inode", None)
            if mine == file.inode:
                step.durable = min(step.durable, at)
        self.steps.append(None)  # a moment of its own

    _fdatasync = _fsync

    def _rename(self, arguments, result):
        self._renameat2([(0, b"/"), arguments[0], (0, b"/"), arguments[1], 0], result)

    def _renameat(self, arguments, result):
        self._renameat2([*arguments, 0], result)

    def _renameat2(self, arguments, result):
        source = self._place(arguments[0][1], arguments[1])
        target = self._place(arguments[2][1], arguments[3])
        if source is None and target is None:
            return
        assert None not in (source, target), f"a rename across the border: {arguments}"
        back = self._inode(target) if "EXCHANGE" in str(arguments[4]) else None
        self._change({source: back, target: self._inode(source)}, target[0])

    def _mkdirat(self, arguments, result):
        if (place := self._place(arguments[0][1], arguments[1])) is not None:
            self._new(place, {})

    def _mkdir(self, arguments, result):
        self._mkdirat([(0, b"/"), arguments[0]], result)

    def _unlinkat(self, arguments, result):
        if (place := self._place(arguments[0][1], arguments[1])) is not None:
            self._change({place: None}, place[0])

    def _unlink(self, arguments, result):
        self._unlinkat([(0, b"/"), arguments[0]], result)

    _rmdir = _unlink

    # --- What a power cut leaves -----------------------------------------------------------------------------

    def state(self, moment, mode, draw: random.Random):
        """The tree after a cut before step `moment`, and what had been told by then: ({path: bytes}, acks)."""
        tree = {inode: dict(c) if isinstance(c, dict) else bytearray(c) for inode, c in self.first.items()}
        share = draw.choice((0.1, 0.5, 0.9))
        cut = draw.randint(0, moment)
        missing = set()  # names of which a change was lost: later changes of them are lost as well
        for n, step in enumerate(self.steps[:moment]):
            if step is None or isinstance(step, Ack):
                continue
            keep = step.durable <= moment - 1 or _keeps(mode, step, n, cut, share, draw)
            if isinstance(step, Names):
                if step.durable > moment - 1 and (not keep or missing & set(step.changes)):
                    missing |= set(step.changes)
                    continue
                for (inode, name), target in step.changes.items():
                    tree[inode].pop(name, None)
                    if target is not None:
                        tree[inode][name] = target
            elif keep:
                _apply(tree[step.inode], step)
        acks = [step.what for step in self.steps[:moment] if isinstance(step, Ack)]
        return _flat(tree), acks


def _keeps(mode, step, n, cut, share, draw):
    if mode in ("lost", "kept"):
        return mode == "kept"
    if mode == "ordered":  # all up to some moment, as a disk without a cache of its own
        return n < cut
    if mode == "names only":  # files whose names and lengths are there, and their content is not
        return not isinstance(step, Data)
    if mode == "data only":
        return not isinstance(step, Names)
    return draw.random() < share


def _apply(content, step):
    if isinstance(step, Size):
        if len(content) < step.size:
            content.extend(bytes(step.size - len(content)))
        elif not step.grows:
            del content[step.size :]
    else:
        if len(content) < step.offset:
            content.extend(bytes(step.offset - len(content)))
        content[step.offset : step.offset + len(step.content)] = step.content


def _flat(tree, inode=0, path=""):
    """Path -> content of a file, None of a folder; what no name leads to is lost."""
    found = {}
    for name, target in tree[inode].items():
        below = os.path.join(path, name)
        if isinstance(tree[target], dict):
            found[below] = None
            found.update(_flat(tree, target, below))
        else:
            found[below] = bytes(tree[target])
    return found
