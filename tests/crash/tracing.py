"""What a process does to the files of a folder, seen from outside: strace, so native code (SQLite) is seen as well.

`record` runs a command and gives its system calls as tuples (name, arguments, result): strings and paths as bytes, file
descriptors as (number, path), in the order in which the calls ended.
"""

import re
import shutil
import subprocess
from pathlib import Path

CALLS = (
    "open,openat,creat,close,dup,dup2,dup3,fcntl,lseek,write,pwrite64,writev,pwritev,sendfile,copy_file_range,"
    "ftruncate,truncate,fallocate,fsync,fdatasync,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,"
    "unlinkat,rmdir,mkdir,mkdirat"
)
_LINE = re.compile(rb"(\d+) +(.*)", re.DOTALL)
_CALL = re.compile(rb"(\w+)\((.*)\) += (-?\d+|\?)", re.DOTALL)
_FD = re.compile(rb"(\d+|AT_FDCWD)<(.*)>", re.DOTALL)


def has_strace():
    return shutil.which("strace") is not None


def record(command, log: Path, **options):
    """Run a command to its end under strace; its calls. Raises CalledProcessError where it fails."""
    flags = [
        "-f",
        "--seccomp-bpf",
        "-y",
        "-xx",
        "-s",
        "100000000",
        "-e",
        f"trace={CALLS}",
        "-e",
        "signal=none",
        "-qq",
    ]
    subprocess.run(["strace", *flags, "-o", str(log), *command], check=True, **options)
    return list(_calls(log.read_bytes()))


def _calls(log):
    unfinished = {}
    for line in log.splitlines():
        process, text = _LINE.fullmatch(line).groups()
        if text.endswith(b"<unfinished ...>"):
            unfinished[process] = text.removesuffix(b"<unfinished ...>").rstrip()
            continue
        if text.startswith(b"<... "):
            text = unfinished.pop(process) + text.split(b" resumed>", 1)[1]
        call = _CALL.match(text)
        if call is not None and call[3] != b"?" and int(call[3]) >= 0:
            yield call[1].decode(), [_value(part) for part in _parts(call[2])], int(call[3])


def _parts(arguments):
    """Arguments at the top level: commas inside brackets and braces do not count; strings are hexadecimal."""
    depth, start = 0, 0
    for at, character in enumerate(arguments):
        depth += character in b"[{"
        depth -= character in b"]}"
        if character == ord(",") and not depth:
            yield arguments[start:at].strip()
            start = at + 1
    yield arguments[start:].strip()


def _value(part):
    if part.startswith(b'"'):
        return _text(part)
    if (descriptor := _FD.fullmatch(part)) is not None:
        number = -100 if descriptor[1] == b"AT_FDCWD" else int(descriptor[1])
        return number, _unescaped(descriptor[2])
    if part.startswith(b"[") and b"iov_base" in part:
        return b"".join(_text(base) for base in re.findall(rb'iov_base=("[^"]*")', part))
    return int(part) if re.fullmatch(rb"-?\d+", part) else part.decode()


def _text(quoted):
    return _unescaped(quoted[1 : quoted.rindex(b'"')])


def _unescaped(text):
    if re.fullmatch(rb"(?:\\x[0-9a-f]{2})*", text):
        return bytes.fromhex(text.replace(b"\\x", b"").decode())
    return re.sub(rb"\\x([0-9a-f]{2})", lambda match: bytes.fromhex(match[1].decode()), text)
