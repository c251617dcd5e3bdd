"""Options of calls: their types, ranges and defaults, and errors with one clear line."""

from __future__ import annotations

import json
from typing import Any, Iterable, Mapping, Sequence, TypedDict

from . import _longhaul
from ._longhaul import UserError


class ReplyOptions(TypedDict, total=False):
    """How a reply is generated. The defaults are those of `longhaul run`."""

    max_tokens: int  # most tokens of the reply; -1: until it ends (1024)
    temperature: float  # 0: always the likeliest token (0)
    top_k: int  # keep the k likeliest tokens; 0: all (40)
    top_p: float  # keep the likeliest tokens with this share together; 1: all (0.95)
    min_p: float  # keep tokens at least this likely, relative to the likeliest (0.05)
    repeat_penalty: float  # above 1: recent tokens are less likely (1)
    repeat_last: int  # recent tokens that repeat_penalty covers (64)
    seed: int | None  # the same seed gives the same reply; None: a new one each time
    stop: str | Sequence[str]  # the reply ends before these texts
    loops: bool  # True: a reply that repeats itself is not ended
    json_schema: str | Mapping[str, Any]  # the reply is JSON of this schema; {}: any JSON
    grammar: str  # the reply matches this grammar, in llama.cpp's GBNF
    regex: str  # the whole reply matches this pattern


# name: (types, least, most)
_KINDS: dict[str, tuple[tuple[type, ...], float, float]] = {
    "max_tokens": ((int,), -1, 2**62),
    "temperature": ((int, float), 0, 100),
    "top_k": ((int,), -1, 2**30),
    "top_p": ((int, float), 0, 1),
    "min_p": ((int, float), 0, 1),
    "repeat_penalty": ((int, float), 0.01, 100),
    "repeat_last": ((int,), 0, 2**30),
    "seed": ((int, type(None)), 0, 2**62),
    "loops": ((bool,), 0, 1),
    "stop": ((str, list, tuple), 0, 0),
    "json_schema": ((str, dict), 0, 0),
    "grammar": ((str,), 0, 0),
    "regex": ((str,), 0, 0),
}
_CONSTRAINTS = ("json_schema", "grammar", "regex")


def refuse_unknown(call: str, options: Iterable[str], known: Iterable[str]) -> None:
    """Raises UserError for the first option that is not known, with the nearest name."""
    names = list(known)
    for name in options:
        if name not in names:
            hint = _longhaul.nearest_name_hint(name, names)
            raise UserError(f"{call}: there is no option '{name}'{hint}")


def check_type(call: str, name: str, value: Any, types: tuple[type, ...], least: float = 0, most: float = 0) -> None:
    """Raises UserError for a value of another type or out of range."""
    wrong_bool = isinstance(value, bool) and bool not in types
    if wrong_bool or not isinstance(value, types):
        wanted = " or ".join("None" if kind is type(None) else kind.__name__ for kind in types)
        raise UserError(f"{call}: {name}={value!r} is of type {type(value).__name__}; expected {wanted}")
    if least < most and isinstance(value, (int, float)) and not least <= value <= most:
        raise UserError(f"{call}: {name}={value!r} is not between {least:g} and {most:g}")


def check_text(call: str, name: str, value: Any) -> str:
    check_type(call, name, value, (str,))
    return value


def reply_arguments(call: str, options: Mapping[str, Any]) -> Any:
    """The options of a reply for the native module."""
    refuse_unknown(call, options, _KINDS)
    arguments = _longhaul.ReplyArguments()
    for name, value in options.items():
        types, least, most = _KINDS[name]
        check_type(call, name, value, types, least, most)
        if name in _CONSTRAINTS:
            if arguments.constraint_kind:
                raise UserError(f"{call}: {name} does not go with {arguments.constraint_kind}")
            arguments.constraint_kind = name
            arguments.constraint = value if isinstance(value, str) else json.dumps(value)
        elif name == "stop":
            stops = [value] if isinstance(value, str) else list(value)
            for stop in stops:
                check_text(call, "stop", stop)
                if not stop:
                    raise UserError(f"{call}: stop has an empty text")
            arguments.stop = stops
        else:
            setattr(arguments, name, value)
    return arguments


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def size_of(call: str, name: str, value: int | str) -> int:
    """Bytes: a number, or a text such as "2G"."""
    check_type(call, name, value, (int, str))
    if isinstance(value, int):
        if value < 0:
            raise UserError(f"{call}: {name}={value} is negative")
        return value
    text = value.strip().upper().removesuffix("IB").removesuffix("B")
    unit = text[-1:] if text[-1:] in _UNITS else ""
    try:
        return int(float(text.removesuffix(unit)) * _UNITS[unit])
    except (ValueError, OverflowError):
        raise UserError(f"{call}: {name}={value!r} is no size such as '2G'") from None
