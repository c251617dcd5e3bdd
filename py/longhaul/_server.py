"""A server of the program `longhaul` as a child process."""

from __future__ import annotations

import os
import pathlib
import re
import time
from typing import Any

from ._longhaul import UserError
from ._options import check_text, check_type
from ._program import program


def _flags(options: dict[str, Any]) -> list[str]:
    """kv_type="q8_0" becomes --kv-type q8_0, sandbox=True becomes --sandbox."""
    flags: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            flags.append(flag)
        elif isinstance(value, (list, tuple)):
            for each in value:
                flags += [flag, str(each)]
        elif value is not None and value is not False:
            flags += [flag, str(value)]
    return flags


class Server:
    """Starts `longhaul serve` and waits until it is ready. Use it in a `with` block.

        with longhaul.Server("nano", threads=1) as server:
            client = openai.OpenAI(base_url=server.url + "/v1", api_key="-")

    Further options are the flags of `longhaul serve`: attention="duo", ctx=32768, parallel=4.
    port=0 chooses a free port. The process ends with the block, and with this process.
    """

    def __init__(self, model: str | os.PathLike[str], *, host: str = "127.0.0.1", port: int = 0, timeout: float = 600,
                 **options: Any) -> None:
        check_text("Server", "host", host)
        check_type("Server", "port", port, (int,), 0, 65535)
        import subprocess  # here: the import of the package stays short
        import tempfile
        self.url = ""
        self._log = tempfile.TemporaryFile()
        self._last_log = ""
        command = [program(), "serve", "-m", os.fspath(model), "--listen", f"{host}:{port}", *_flags(options)]
        self._process = subprocess.Popen(command, stdout=self._log, stderr=self._log)
        try:
            self._wait_ready(timeout)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit status of the process; None while it runs."""
        return self._process.poll()

    def _wait_ready(self, timeout: float) -> None:
        end = time.monotonic() + timeout
        while True:
            if self.returncode is not None:
                lines = self.log().strip().splitlines()
                raise UserError(lines[-1].removeprefix("error: ") if lines else f"longhaul serve ended: {self.returncode}")
            found = re.search(r"^listening\s+(https?://\S+)", self.log(), re.MULTILINE)
            if found:
                self.url = found[1]
                if self._is_ready():
                    return
            if time.monotonic() > end:
                raise UserError(f"longhaul serve is not ready after {timeout:g} s")
            time.sleep(0.02)

    def _is_ready(self) -> bool:
        import urllib.error
        import urllib.request
        try:
            with urllib.request.urlopen(self.url + "/health/ready", timeout=2) as reply:
                return bool(reply.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def log(self) -> str:
        """What the server has written."""
        if self._log.closed:
            return self._last_log
        return pathlib.Path(f"/proc/self/fd/{self._log.fileno()}").read_text(errors="replace")

    def close(self) -> None:
        """Ends the server; running replies may finish within its --drain time."""
        if self._process.poll() is None:
            import subprocess
            self._process.terminate()
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._last_log = self.log()
        self._log.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
