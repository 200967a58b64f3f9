"""What the plugin costs where it is not used: CPU time of an empty collection, with and without it.

Run it in an environment where pytest-retrieval is installed:

    python benchmarks/startup.py

Both commands run alternately in one empty folder; the difference of the medians is what the plugin costs. The
modules that a plain run must not have loaded are checked too, by comparing `sys.modules`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HEAVY = ("numpy", "pandas", "scipy", "yaml", "ssl", "jinja2")
LOADED = """
import sys, pytest
pytest.main(["--collect-only", "-q", *sys.argv[1:]])
print("LOADED", *sorted(sys.modules))
"""


def cpu_seconds(command: list[str], folder: Path) -> float:
    """Return the user and system time of a command and its children."""
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_utime + usage.ru_stime


def loaded(folder: Path, *arguments: str) -> set[str]:
    """Return the modules that are loaded after an empty run."""
    command = [sys.executable, "-c", LOADED, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("LOADED"))
    return set(line.split()[1:])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=40, help="runs of each command")
    runs = parser.parse_args().runs
    base = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    times: dict[str, list[float]] = {"with": [], "without": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for _ in range(3):
            cpu_seconds(base, folder)
        for _ in range(runs):
            times["with"].append(cpu_seconds(base, folder))
            times["without"].append(cpu_seconds([*base, "-p", "no:retrieval"], folder))
        extra = sorted(loaded(folder) - loaded(folder, "-p", "no:retrieval"))
    medians = {name: statistics.median(of) * 1000 for name, of in times.items()}
    print(f"median CPU of {runs} alternating runs: with {medians['with']:.1f} ms,", end=" ")
    print(
        f"without {medians['without']:.1f} ms, cost {medians['with'] - medians['without']:.1f} ms (at most 5)"
    )
    print("modules it adds:", ", ".join(extra))
    heavy = [module for module in extra if module.split(".")[0] in HEAVY]
    print("heavy ones among them:", ", ".join(heavy) or "none")


if __name__ == "__main__":
    main()
