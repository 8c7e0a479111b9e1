"""Every command, watched from outside: no network, no file changed but where it belongs, no foreign program.

Python's own view is not enough: a library of native code opens sockets and files behind its back.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from whole_run import RUNS, RUNS_SHORT, environment, new_collection, run_all, script

from topicture.app.cli.commands import app

CHANGES = (
    "creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir,link,linkat,symlink,symlinkat,truncate,"
    "chmod,fchmodat,chown,fchownat,utimensat,mknod,mknodat,setxattr"
)
WATCHED = f"trace=%network,execve,open,openat,openat2,{CHANGES}"
# How a call is written: 123 openat(AT_FDCWD</where>, "name", O_RDONLY) = 3</where/name>
CALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)")
PLACE = re.compile(r'(?:\w+<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')
DEVICES = ("/dev", "/proc")
# Programs of the system that libraries ask: matplotlib for the fonts, joblib for the number of cores.
ASKED = {"fc-list", "lscpu"}


def strace(log):
    return ["strace", "-f", "--seccomp-bpf", "-y", "-s", "4096", "-o", str(log), "-e", WATCHED]


@pytest.fixture(scope="module", autouse=True)
def _strace_works(tmp_path_factory):
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    log = tmp_path_factory.mktemp("strace") / "log"
    if subprocess.run([*strace(log), "true"], capture_output=True).returncode:
        pytest.skip("this system does not permit strace")


class Seen:
    """What the calls of some processes did."""

    def __init__(self, logs, working_folder):
        self.sockets, self.changed, self.programs = [], set(), []
        for log in logs:
            for line in log.read_text(errors="backslashreplace").splitlines():
                if match := CALL.match(line):
                    self._note(*match.groups(), line, working_folder)

    def _note(self, call, arguments, result, line, working_folder):
        if call in ("socket", "connect", "bind", "listen", "sendto", "sendmsg", "sendmmsg", "socketpair"):
            self.sockets.append(line)
        elif call.startswith(("accept", "recv", "shutdown", "getsock", "setsock", "getpeer")):
            pass  # what comes of the sockets above
        elif call == "execve":
            if result == "0":
                self.programs.append(re.findall(r'"((?:[^"\\]|\\.)*)"', arguments))
        elif not call.startswith("open") or re.search(r"O_(WRONLY|RDWR|CREAT|TRUNC|APPEND)", arguments):
            for folder, name in PLACE.findall(arguments):
                self.changed.add(os.path.normpath(os.path.join(folder or working_folder, name)))

    def outside(self, *folders):
        """What was changed, or tried to, elsewhere; that an empty home gets its `.cache` is no change."""
        inside = tuple(f"{os.path.realpath(folder)}/" for folder in (*folders, *DEVICES))
        changed = {path for path in self.changed if not path.endswith("/home/.cache")}
        return sorted(path for path in changed if not f"{path}/".startswith(inside))


def watch(tmp_path, runs):
    """The calls of all runs, made from an empty home, and the folders where they may change something."""
    photos = new_collection(tmp_path / "collection")
    logs, temporary = tmp_path / "logs", tmp_path / "temporary"
    logs.mkdir()
    temporary.mkdir()
    env = environment(tmp_path / "home", TMPDIR=str(temporary))
    run_all(photos, env, runs, lambda number, verb: strace(logs / f"{number:02d}-{verb}"), timeout=900)
    cache = tmp_path / "home" / ".cache" / "topicture"
    seen = Seen(sorted(logs.iterdir()), photos)
    assert len(seen.programs) >= len(list(logs.iterdir()))
    assert str(photos / ".topicture") in {os.path.dirname(path) for path in seen.changed}  # it does watch
    return seen, (photos, tmp_path / "collection" / "outside", cache, temporary)


def check(seen, places):
    assert seen.sockets == []
    assert seen.outside(*places) == []
    for program, *arguments in seen.programs:
        if (name := os.path.basename(program)) in ASKED:
            continue
        assert name == os.path.basename(sys.executable), f"{program} was run"
        assert arguments[1].endswith("/start") or "-I" in arguments, f"not isolated: {arguments}"


def test_every_command_is_watched():
    """A new command must be added to `whole_run.RUNS`."""
    commands = typer.main.get_command(app).commands
    assert {*RUNS, "serve", "cluster"} == set(commands)  # servers are watched by themselves


def test_the_page_is_served_to_this_machine_only(tmp_path):
    photos = new_collection(tmp_path / "collection")
    code = (
        "import os, re, signal, sys, threading, time, urllib.request\n"
        "from http.cookiejar import CookieJar\n"
        "from topicture.app.cli import main\n"
        "from topicture.app.verbs.library import Library\n"
        "from topicture.app.web import access\n"
        "Library.create('.').scan()\n"
        "told = []\n"
        "first = access.Access.first_address.fget\n"
        "access.Access.first_address = property(lambda self: told.append(first(self)) or told[-1])\n"
        "def visit():\n"
        "    opener = urllib.request.build_opener(\n"
        "        urllib.request.HTTPCookieProcessor(CookieJar()), urllib.request.ProxyHandler({}))\n"
        "    while not told: time.sleep(0.05)\n"
        "    opener.open(told[0], timeout=120).close()\n"  # it spends the token
        "    address = told[0].partition('login')[0]\n"
        "    opener.open(address + 'api/thumbnails/1', timeout=60).close()\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=visit, daemon=True).start()\n"
        "sys.argv[1:] = ['serve', '--no-browser', '--port', '0']\n"
        "main.main()\n"
    )
    (tmp_path / "temporary").mkdir()
    env = environment(tmp_path / "home", TMPDIR=str(tmp_path / "temporary"))
    command = [*strace(tmp_path / "log"), *script(photos, code)]
    ended = subprocess.run(command, cwd=photos, env=env, timeout=300, capture_output=True, text=True)
    assert ended.returncode in (0, 130), ended.stderr
    seen = Seen([tmp_path / "log"], photos)
    bound = [line for line in seen.sockets if " bind(" in line]
    assert bound
    assert all('inet_addr("127.0.0.1")' in line for line in bound)
    reached = [line for line in seen.sockets if " connect(" in line and "AF_UNIX" not in line]
    assert all('inet_addr("127.0.0.1")' in line for line in reached)  # by the visitor of this test
    places = (photos, tmp_path / "home" / ".cache" / "topicture", tmp_path / "temporary")
    assert seen.outside(*places) == []


@pytest.mark.slow
def test_a_cluster_is_open_to_this_machine_only_and_gives_the_same_suggestions(tmp_path):
    """`cluster start`, `learn --cluster` and `annotate --cluster`; then the same without one."""
    photos = new_collection(tmp_path / "collection")
    (tmp_path / "temporary").mkdir()
    env = environment(tmp_path / "home", TMPDIR=str(tmp_path / "temporary"))
    tool = script(photos, "from topicture.app.cli.main import main; main()")
    start = [*strace(tmp_path / "log"), *tool, "cluster", "start", "--workers", "2", "--port", "0", "--json"]
    learned = []
    with subprocess.Popen(start, cwd=photos, env=env, stdout=subprocess.PIPE, text=True) as cluster:
        try:
            told = json.loads(cluster.stdout.readline())
            address = told["address"]
            for used in (["--cluster", address], []):
                learn = ["learn", "--model", "knn", "--no-regions", *used]
                steps = {"init": RUNS["init"]} if used else {}
                runs = {**steps, "learn": [learn], "annotate": [["annotate", "--threshold", "0.01", *used]]}
                run_all(photos, env, runs, timeout=300)
                listed = [*tool, "review", "--list", "--json"]
                done = subprocess.run(listed, cwd=photos, env=env, capture_output=True, text=True, check=True)
                learned.append(done.stdout)
        finally:
            os.kill(told["pid"], signal.SIGINT)  # strace itself does not mind it
    assert cluster.wait(60) in (0, 130)
    assert len(learned[0]) > 100
    assert learned[0] == learned[1]
    assert not list((photos / ".topicture" / "cluster").iterdir())
    seen = Seen([tmp_path / "log"], photos)
    bound = [line for line in seen.sockets if " bind(" in line and "AF_UNIX" not in line]
    assert bound
    assert all('inet_addr("127.0.0.1")' in line for line in bound)
    reached = [line for line in seen.sockets if " connect(" in line and "AF_UNIX" not in line]
    assert all('inet_addr("127.0.0.1")' in line for line in reached)
    places = (photos, tmp_path / "home" / ".cache" / "topicture", tmp_path / "temporary")
    assert seen.outside(*places) == []


def test_commands_use_no_network_and_change_nothing_elsewhere(tmp_path):
    check(*watch(tmp_path, RUNS_SHORT))


@pytest.mark.slow
def test_no_command_uses_the_network_or_changes_anything_elsewhere(tmp_path):
    check(*watch(tmp_path, RUNS))


def test_the_library_is_offline_too(tmp_path):
    """Also where the host has no settings of ours, and has loaded onnxruntime's users itself."""
    photos = new_collection(tmp_path / "collection")
    code = (
        "import numpy as np, time\nfrom topicture.vision.networks.deep import load_network\n"
        "load_network('lite0').image_features([np.zeros((9, 9, 3), np.uint8)])\ntime.sleep(2)"
    )
    env = environment(tmp_path / "home")
    command = [*strace(tmp_path / "log"), *script(photos, code)]
    subprocess.run(command, cwd=photos, env=env, check=True, timeout=300)
    seen = Seen([tmp_path / "log"], photos)
    assert seen.sockets == []
    assert seen.outside(tmp_path / "home" / ".cache" / "topicture") == []


def test_the_watcher_sees(tmp_path):
    """Sockets, files and programs, whoever opens them."""
    photos = new_collection(tmp_path / "collection")
    code = (
        "import socket, os, subprocess\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()\n"
        f"open('here', 'w').close()\nos.mkdir({str(tmp_path / 'there')!r})\nsubprocess.run(['true'])"
    )
    subprocess.run([*strace(tmp_path / "log"), *script(photos, code)], cwd=photos, check=True, timeout=60)
    seen = Seen([tmp_path / "log"], photos)
    assert any("AF_INET" in line for line in seen.sockets)
    assert seen.outside(photos) == [str(tmp_path / "there")]
    assert Path(seen.programs[-1][0]).name == "true"
