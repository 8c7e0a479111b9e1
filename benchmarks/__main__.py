"""`make bench`: run the benchmarks, print a table for each, write JSON to benchmarks/results.

    python -m benchmarks [--full] [NAME ...]

A benchmark is a module here with `run(quick=True) -> list[dict]`, one row per measurement. Ratios are measured within
one run, since machines differ and are noisy.
"""

import argparse
import inspect
import json
import platform
import time
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure Topicture.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which ones: {', '.join(NAMES)} (default: all)"
    )
    parser.add_argument("--full", action="store_true", help="the large sizes too")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(NAMES))
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are: {', '.join(NAMES)}")
    (FOLDER / "results").mkdir(exist_ok=True)
    for name in arguments.names or NAMES:
        run = import_module(f"benchmarks.{name}").run
        start = time.perf_counter()
        rows = run(quick=not arguments.full) if "quick" in inspect.signature(run).parameters else run()
        print(f"\n{name} ({time.perf_counter() - start:.0f} s)")
        print(table(rows))
        result = {"benchmark": name, "machine": machine(), "rows": rows}
        (FOLDER / "results" / f"{name}.json").write_text(json.dumps(result, indent=1, default=float))


def machine() -> dict[str, str | int | None]:
    import os

    return {"python": platform.python_version(), "system": platform.machine(), "cores": os.cpu_count()}


def table(rows: list[dict]) -> str:
    """Rows as aligned text; numbers with four significant digits."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [columns] + [[_cell(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells
    )


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)


if __name__ == "__main__":
    main()
