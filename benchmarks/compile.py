"""First fit of a process, 1,000 images: with nothing compiled before, and with the code that an earlier process kept.

`python -m benchmarks.compile` prints, per model and process, CPU and wall-clock seconds of the first and of a second
fit, and how many compilations were asked for and found.
"""

import json
import os
import subprocess
import sys
import tempfile
from time import perf_counter, process_time

MODELS = ("corr-lda", "link-lda")
_COUNTED = {"compile_requests_use_cache": "compilations", "cache_hits": "found"}


def first_fit(name: str) -> dict:
    """In a process of its own."""
    import jax

    from benchmarks.gpu import many_images
    from topicture.models.registry import make_annotator

    counted = dict.fromkeys(_COUNTED.values(), 0)

    def count(event: str, **_: object) -> None:
        if (last := event.split("/")[-1]) in _COUNTED:
            counted[_COUNTED[last]] += 1

    jax.monitoring.register_event_listener(count)
    corpus = many_images(1_000)
    times = {}
    for fit in ("first", "second"):
        cpu, wall = process_time(), perf_counter()
        make_annotator(name, n_topics=20, n_init=1, max_iter=3).fit(corpus)
        times |= {
            f"{fit}_cpu_seconds": round(process_time() - cpu, 2),
            f"{fit}_seconds": round(perf_counter() - wall, 2),
        }
    return {"name": f"compile/{name}", **times, **counted}


def run(quick: bool = True) -> list[dict]:
    rows = []
    with tempfile.TemporaryDirectory(prefix="topicture-") as folder:
        kept = {
            **os.environ,
            "JAX_COMPILATION_CACHE_DIR": folder,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        }
        for name in MODELS:
            for how in ("nothing kept", "kept by the process before"):
                command = [sys.executable, "-m", "benchmarks.compile", "--only", name]
                told = subprocess.run(command, env=kept, check=True, stdout=subprocess.PIPE).stdout
                rows.append({**json.loads(told), "code": how})
    return rows


if __name__ == "__main__":
    if "--only" in sys.argv:
        print(json.dumps(first_fit(sys.argv[-1])))
        sys.exit()
    for row in run():
        print(json.dumps(row), flush=True)
