"""Evaluations by `longhaul eval`, also on several machines."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any, Iterable, Sequence

from ._longhaul import UserError
from ._program import program

if TYPE_CHECKING:
    import pandas


def _list(value: str | Iterable[Any]) -> str:
    return value if isinstance(value, str) else ",".join(str(each) for each in value)


def _model_name(model: Any) -> str:
    return os.fspath(getattr(model, "name", model))


class EvalResult:
    """The records of an evaluation, one for each answer."""

    def __init__(self, records: list[dict[str, Any]], run: dict[str, Any]) -> None:
        self.records = records
        self.run = run  # run.json: settings, model, machine

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> EvalResult:
        """Reads a folder of `longhaul eval --out`."""
        path = pathlib.Path(folder)
        lines = (path / "samples.jsonl").read_text(encoding="utf-8").splitlines()
        return cls([json.loads(line) for line in lines if line.strip()], json.loads((path / "run.json").read_text()))

    def to_pandas(self) -> pandas.DataFrame:
        """A table with a row for each answer: task, length, method, score, seconds, kv_bytes, ..."""
        import pandas
        return pandas.DataFrame(self.records)

    def scores(self) -> dict[tuple[str, int, str], float]:
        """The mean score by (task, length, method)."""
        sums: dict[tuple[str, int, str], list[float]] = {}
        for record in self.records:
            sums.setdefault((record["task"], record["length"], record["method"]), []).append(record["score"])
        return {cell: sum(values) / len(values) for cell, values in sums.items()}


def _command(tasks: Any, model: Any, attention: Any, lengths: Any, samples: int, seed: int,
             options: dict[str, Any]) -> list[str]:
    command = [program(), "eval", _list(tasks), "-m", _model_name(model), "--attention", _list(attention),
               "--samples", str(samples), "--seed", str(seed)]
    if lengths:
        command += ["--lengths", _list(lengths)]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            command.append(flag)
        elif value is not None and value is not False:
            command += [flag, _list(value) if isinstance(value, (list, tuple)) else str(value)]
    return command


def _check(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode == 130:
        raise KeyboardInterrupt
    if done.returncode != 0:
        lines = [line for line in done.stderr.strip().splitlines() if line]
        raise UserError(lines[-1].removeprefix("error: ") if lines else f"longhaul eval ended with {done.returncode}")


def eval(tasks: str | Sequence[str], model: Any, attention: str | Sequence[str] = "dense",  # noqa: A001
         lengths: Sequence[int] = (), *, samples: int = 20, seed: int = 1, out: str | os.PathLike[str] | None = None,
         **options: Any) -> EvalResult:
    """Runs `longhaul eval`: every sample of every task with every method.

    model: a name, a path, or a Longhaul object, whose name is used. out: a folder that keeps the
    records; a stopped run goes on there. Further options are the flags of `longhaul eval`, such as
    shard="1/4", controls=True, chat_template="chatml".
    """
    with tempfile.TemporaryDirectory(prefix="longhaul-eval-") as scratch:
        folder = pathlib.Path(scratch) / "run" if out is None else pathlib.Path(out)
        command = _command(tasks, model, attention, lengths, samples, seed, {"quiet": True, **options})
        done = subprocess.run([*command, "--out", str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        _check(done)
        return EvalResult.read(folder)


def merge(folders: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str]) -> EvalResult:
    """Merges the folders of all shards of a run by `longhaul report --merge`."""
    done = subprocess.run([program(), "report", *map(os.fspath, folders), "--merge", os.fspath(out)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    _check(done)
    return EvalResult.read(out)


def _run_unit(command: list[str]) -> tuple[str, str]:
    """One unit, on any machine. Returns run.json and samples.jsonl."""
    with tempfile.TemporaryDirectory(prefix="longhaul-unit-") as scratch:
        folder = pathlib.Path(scratch) / "run"
        done = subprocess.run([program(), *command[1:], "--out", str(folder)], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        _check(done)
        return (folder / "run.json").read_text(), (folder / "samples.jsonl").read_text()


def grid(tasks: str | Sequence[str], model: Any, attention: str | Sequence[str] = "dense", lengths: Sequence[int] = (),
         *, samples: int = 20, seed: int = 1, unit: int = 8, workers: int = 2, backend: str = "local",
         out: str | os.PathLike[str] | None = None, **options: Any) -> EvalResult:
    """Runs an evaluation in units on several workers, and merges their records.

    A unit holds about `unit` samples of one length with all methods, which share the dense beginning
    of a prompt. backend="local": processes of this machine; "ray": tasks of a Ray cluster, which
    repeats a unit whose worker died. The records equal those of one run, in another order.
    """
    if backend not in ("local", "ray"):
        raise UserError(f"grid: backend={backend!r} is neither 'local' nor 'ray'")
    shards = max(1, -(-samples // max(1, unit)))
    commands = []
    for length in lengths or (None,):
        for shard in range(1, shards + 1):
            commands.append(_command(tasks, model, attention, [length] if length else [], samples, seed,
                                     {"quiet": True, **options, "shard": f"{shard}/{shards}" if shards > 1 else None}))
    units = (_units_by_ray if backend == "ray" else _units_here)(commands, workers)
    with tempfile.TemporaryDirectory(prefix="longhaul-grid-") as scratch:
        folders = []
        for number, (run, records) in enumerate(units):
            folder = pathlib.Path(scratch) / f"unit{number}"
            folder.mkdir()
            (folder / "run.json").write_text(run)
            (folder / "samples.jsonl").write_text(records)
            folders.append(folder)
        return merge(folders, pathlib.Path(scratch) / "merged" if out is None else out)


def _units_here(commands: list[list[str]], workers: int) -> list[tuple[str, str]]:
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(max(1, workers)) as pool:
        return list(pool.map(_repeat_killed, commands))


def _repeat_killed(command: list[str], tries: int = 3) -> tuple[str, str]:
    """Runs a unit again if its process was killed."""
    for left in reversed(range(tries)):
        try:
            return _run_unit(command)
        except UserError as error:
            if left == 0 or "ended with -" not in str(error):
                raise
    raise AssertionError


def _units_by_ray(commands: list[list[str]], workers: int) -> list[tuple[str, str]]:
    import ray
    if not ray.is_initialized():
        ray.init(num_cpus=workers)
    run = ray.remote(num_cpus=1, max_retries=3)(_run_unit)
    return ray.get([run.remote(command) for command in commands])


eval.grid = grid  # type: ignore[attr-defined]
eval.merge = merge  # type: ignore[attr-defined]
