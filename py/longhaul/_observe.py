"""The keys that rows attend to, for research."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any, Iterator

from . import _longhaul
from ._longhaul import UserError
from ._session import Session

if TYPE_CHECKING:
    import numpy


@dataclasses.dataclass
class Observed:
    """What the rows of replies attended to.

    Entry i: query heads [head[i], head[i] + heads[i]) of layer[i], at position[i] of the context,
    attended to the tokens keys[begin[i]:end[i]]. All are numpy arrays. They are filled when the
    `with` block ends.
    """

    layer: numpy.ndarray = None  # type: ignore[assignment]
    head: numpy.ndarray = None  # type: ignore[assignment]
    heads: numpy.ndarray = None  # type: ignore[assignment]
    position: numpy.ndarray = None  # type: ignore[assignment]
    begin: numpy.ndarray = None  # type: ignore[assignment]
    end: numpy.ndarray = None  # type: ignore[assignment]
    keys: numpy.ndarray = None  # type: ignore[assignment]
    complete: bool = True  # False: recording ended after `most_keys` keys
    unknown: int = 0  # entries with keys that are not tokens of the context, such as means of blocks

    def __len__(self) -> int:
        return 0 if self.layer is None else len(self.layer)

    def seen(self, entry: int) -> numpy.ndarray:
        """The tokens that entry `entry` attended to."""
        return self.keys[self.begin[entry]:self.end[entry]]


@contextlib.contextmanager
def observe(session: Session, *, prompts: bool = False, most_keys: int = 20_000_000) -> Iterator[Observed]:
    """Records the keys that the replies of a session attend to while the block runs.

    prompts: also record the rows of the questions.
    """
    if session._observation is not None:
        raise UserError("observe: this session is observed already")
    observation: Any = _longhaul.Observation(prompts, most_keys)
    seen = Observed()
    session._observation = observation
    try:
        yield seen
    finally:
        session._observation = None
        for name, value in observation.take().items():
            setattr(seen, name, value)
