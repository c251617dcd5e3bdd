"""A Ray Serve deployment: serve run longhaul.ray:app model=model.gguf

Every replica owns a server process of the program `longhaul`. Ray's own router sends all requests of
a session (header X-Session-Id) to one replica. docs/scale.md describes what was tried.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
from ray import serve
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ._server import Server

TRIES = 100  # of a request whose reply has not begun; Ray replaces a replica within seconds
PAUSE = 0.1  # seconds between them
HOP_HEADERS = {"connection", "content-length", "host", "keep-alive", "transfer-encoding"}


@serve.deployment(max_ongoing_requests=64, health_check_period_s=2, health_check_timeout_s=10)
class LonghaulReplica:
    """One replica: a server process, and the way of requests to it."""

    def __init__(self, model: str, options: dict[str, Any]) -> None:
        self._model, self._options = model, options
        self._lock = asyncio.Lock()
        self._client = httpx.AsyncClient(timeout=httpx.Timeout(3600, connect=2))
        self._server = Server(model, **options)

    def check_health(self) -> None:
        if self._server.returncode is not None:
            raise RuntimeError("the server process has ended")

    async def _revive(self) -> None:
        """Starts a new process if the old one is gone. The next request need not wait for Ray to notice."""
        async with self._lock:
            if self._server.returncode is not None:
                self._server = await asyncio.to_thread(Server, self._model, **self._options)

    async def __call__(self, request: Request) -> Response:
        body = await request.body()
        headers = {key: value for key, value in request.headers.items() if key.lower() not in HOP_HEADERS}
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        for left in reversed(range(TRIES)):
            try:
                sent = self._client.build_request(request.method, self._server.url + path, content=body, headers=headers)
                reply = await self._client.send(sent, stream=True)
                pieces = reply.aiter_raw()
                first = await anext(pieces, b"")
                break
            except httpx.TransportError:
                if left == 0:
                    raise
                await self._revive()
                await asyncio.sleep(PAUSE)

        async def all_pieces() -> Any:
            try:
                yield first
                async for piece in pieces:
                    yield piece
            finally:
                await reply.aclose()  # a client that leaves ends the generation

        kept = {key: value for key, value in reply.headers.items() if key.lower() not in HOP_HEADERS}
        return StreamingResponse(all_pieces(), reply.status_code, kept)


def app(arguments: dict[str, str]) -> serve.Application:
    """Builder for `serve run longhaul.ray:app model=FILE replicas=2 threads=1 ctx=32768`."""
    from ray.serve.config import RequestRouterConfig
    from ray.serve.experimental.consistent_hash_router import ConsistentHashRouter
    options: dict[str, Any] = dict(arguments)
    model = options.pop("model")
    replicas = int(options.pop("replicas", 1))
    router = RequestRouterConfig(request_router_class=ConsistentHashRouter)
    return LonghaulReplica.options(num_replicas=replicas, request_router_config=router).bind(model, options)
