"""Servers that a comparison starts on loopback and ends by their process ids, and figures about them."""

import contextlib
import datetime
import http.client
import json
import os
import pathlib
import random
import socket
import statistics
import subprocess
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def token_ids(count, seed):
    """Ids that every model of the comparison has."""
    draw = random.Random(seed)
    return [draw.randrange(300, 3300) for _ in range(count)]


class Server:
    """A running program that answers GET /health with 200."""

    def __init__(self, name, command, port):
        self.name, self.port = name, port
        began = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            if self.process.poll() is not None:
                raise RuntimeError(f"{name} ended: {' '.join(map(str, command))}")
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.ask("GET", "/health")[0] == 200:
                    break
            time.sleep(0.02)
        self.seconds_to_ready = time.perf_counter() - began

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def ask(self, method, path, body=None, timeout=600):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, None if body is None else json.dumps(body),
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        is_json = "json" in (answer.getheader("Content-Type") or "")
        return answer.status, json.loads(data) if is_json else data.decode(errors="replace")

    def complete(self, **body):
        """POST /completion, which both programs have; the reply."""
        status, reply = self.ask("POST", "/completion", {"temperature": 0, "ignore_eos": True, **body})
        if status != 200:
            raise RuntimeError(f"{self.name}: {status} {reply}")
        return reply

    def rss(self):
        """Bytes of resident memory that are not pages of files."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) << 10
        return 0

    def whole_rss(self):
        return int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def counts(self):
        """Open descriptors and threads."""
        folder = pathlib.Path(f"/proc/{self.process.pid}")
        return len(list((folder / "fd").iterdir())), len(list((folder / "task").iterdir()))

    def busy(self, timeout=600):
        return any(slot["is_processing"] for slot in self.ask("GET", "/slots", timeout=timeout)[1])


class Programs:
    """How each program is started."""

    def __init__(self, longhaul, llama, threads):
        self.longhaul_file, self.llama_folder, self.threads = longhaul, llama, str(threads)

    def longhaul(self, model, *flags):
        port = free_port()
        return Server("Longhaul", [self.longhaul_file, "serve", "-m", model, "-t", self.threads, "--listen",
                                   f"127.0.0.1:{port}", "--quiet", *flags], port)

    def llama(self, model, *flags, slots=8, context=32768):
        """A slot of llama-server is cut to the length that the model's file names, so that length is set too."""
        port = free_port()
        return Server("llama-server", [f"{self.llama_folder}/llama-server", "-m", model, "--port", str(port), "-t",
                                       self.threads, "-np", str(slots), "-c", str(context), "-fa", "on", "--no-ui",
                                       "--slots", "--override-kv", f"llama.context_length=int:{context}", *flags], port)


def alternate(rounds, starts, measure):
    """Starts each program in turn, `rounds` times. Returns the results of each by name."""
    results = {}
    for _ in range(rounds):
        for start in starts:
            with start() as server:
                results.setdefault(server.name, []).append(measure(server))
    return results


def spread(values, digits=1, unit=""):
    """Median and range."""
    values = list(values)
    if len(values) == 1 or min(values) == max(values):
        return f"{values[0]:,.{digits}f}{unit}"
    return f"{statistics.median(values):,.{digits}f}{unit} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part / 100 * len(ordered)))]


def machine():
    names = {line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")}
    return (f"{datetime.datetime.now():%Y-%m-%d %H:%M}, {os.cpu_count()} cores of {', '.join(names)}, "
            f"load {os.getloadavg()[0]:.1f}")
