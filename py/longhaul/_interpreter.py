"""The engine's thread and its objects belong to the main interpreter of a process."""

from __future__ import annotations


def _is_main() -> bool:
    try:
        import _interpreters as interpreters  # Python 3.13 and later
    except ImportError:
        try:
            import _xxsubinterpreters as interpreters  # type: ignore[import-not-found,no-redef]
        except ImportError:
            return True

    def number(interpreter: object) -> int:
        return int(interpreter[0] if isinstance(interpreter, tuple) else interpreter)  # type: ignore[arg-type]

    return number(interpreters.get_current()) == number(interpreters.get_main())


if not _is_main():
    raise ImportError("longhaul works in the main interpreter of a process only; a process of its own is needed here")
