"""Speed and memory against `orjson.loads` on the same lines, in one run. Prints ratios; nothing here fails.

    python tests/bench/bench_replay.py [DIRECTORY]

Without a directory: recorded sessions in ../shared/corpus where they are, else a generated session.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT.parent / "shared" / "corpus" / "sessions"
ROUNDS = 7
LOADS = """
import sys, orjson
for name in sys.argv[1:]:
    with open(name, "rb") as lines:
        for line in lines:
            try:
                orjson.loads(line)
            except orjson.JSONDecodeError:
                pass
"""


def unpacked(source: Path, folder: Path) -> list[Path]:
    """The sessions as plain files, so that both sides read the same bytes."""
    files = []
    for path in sorted(source.glob("*.jsonl*")):
        target = folder / path.name.removesuffix(".gz")
        target.write_bytes(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
        files.append(target)
    return files


def best(command: list[str]) -> tuple[float, int]:
    """(seconds of the fastest of several runs, peak memory of the last run in bytes)."""
    seconds, peak = float("inf"), 0
    for _ in range(ROUNDS):
        start = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds = min(seconds, time.perf_counter() - start)
        peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return seconds, peak


def replay(*paths: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "compactlab",
        "replay",
        *paths,
        "--counter",
        "heuristic",
        "--format",
        "json",
    ]


def doubled(path: Path, folder: Path, times: int) -> Path:
    """The same session several times over, with new ids, linked one after the other."""
    target = folder / f"{times}-times.jsonl"
    data = path.read_bytes()
    with target.open("wb") as out:
        for number in range(times):
            mark = f"{number:02d}".encode()
            out.write(data.replace(b'"uuid":"', b'"uuid":"' + mark).replace(b'"parentUuid":"', b'"parentUuid":"' + mark)
                      .replace(b'"id":"msg_', b'"id":"msg_' + mark).replace(b"toolu_", b"toolu_" + mark))  # fmt: skip
    return target


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = Path(sys.argv[1]) if len(sys.argv) > 1 else CORPUS
        if not source.is_dir():
            source = folder / "made"
            source.mkdir()
            generate = [sys.executable, str(ROOT / "fixtures" / "generate.py"), "--size", "20"]
            subprocess.run([*generate, str(source / "made.jsonl")], check=True)
        plain = folder / "plain"
        plain.mkdir()
        files = unpacked(source, plain)
        size = sum(path.stat().st_size for path in files)
        largest = max(files, key=lambda path: path.stat().st_size)
        print(f"{len(files)} sessions, {size / 1e6:.1f} MB, largest {largest.stat().st_size / 1e6:.1f} MB")

        tiny = folder / "tiny.jsonl"
        tiny.write_bytes(b"".join(files[0].read_bytes().splitlines(keepends=True)[:20]))
        nothing, base_memory = best(replay(str(tiny)))
        interpreter, _ = best([sys.executable, "-c", "import orjson"])
        loads, _ = best([sys.executable, "-c", LOADS, *map(str, files)])
        loads -= interpreter
        whole, _ = best(replay(str(plain)))
        print(f"orjson.loads on every line {loads:.3f} s, start-up {nothing:.3f} s, replay {whole:.3f} s")
        print(f"ratio (replay - start-up) / loads: {(whole - nothing) / loads:.2f}   (target 3)")

        once, _ = best(replay(str(largest)))
        times = {n: best(replay(str(doubled(largest, folder, n))))[0] - nothing for n in (2, 4, 8)}
        print(f"length x1 {once - nothing:.3f} s, " + ", ".join(f"x{n} {t:.3f} s" for n, t in times.items()))
        print(
            f"ratio of doubling x2/x4: {times[4] / times[2]:.2f}, x4/x8: {times[8] / times[4]:.2f}   (target 2.2)"
        )

        eight = doubled(largest, folder, 8)
        _, peak = best(replay(str(eight)))
        grown = (peak - base_memory) / eight.stat().st_size
        print(f"peak memory {peak / 1e6:.0f} MB on a file of {eight.stat().st_size / 1e6:.1f} MB, "
              f"start-up alone {base_memory / 1e6:.0f} MB")  # fmt: skip
        print(
            f"ratio peak / file: {peak / eight.stat().st_size:.2f}, over start-up: {grown:.2f}   (target 6)"
        )
        print(f"help page: {best([sys.executable, '-m', 'compactlab', '--help'])[0]:.3f} s   (target 0.15)")


if __name__ == "__main__":
    main()
