"""A server of its own on a free port of loopback, for tests of the program."""

import http.client
import json
import re
import signal
import subprocess
import sys


class ServerProcess:
    def __init__(self, binary, *flags, model="nano", port=0):
        command = [binary, "serve", "-m", model, "--listen", f"127.0.0.1:{port}", *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.start_lines = []
        self.port = None
        for line in self.process.stdout:
            self.start_lines.append(line)
            found = re.match(r"listening\s+https?://127\.0\.0\.1:(\d+)", line)
            if found:
                self.port = int(found[1])
            if line.startswith("curl"):
                break
        if self.port is None:
            sys.exit("the server did not start: " + self.process.stderr.read())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Ends it as a service manager does; returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)
        return self.process.returncode

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def ask(self, method, path, body=None, headers=None):
        """Status and JSON of one request."""
        connection = self.connect()
        headers = dict(headers or {})
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
            body = json.dumps(body) if not isinstance(body, (str, bytes)) else body
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        is_json = response.getheader("Content-Type", "").startswith("application/json")
        return response.status, json.loads(text) if is_json and text else text

    def post(self, path, body, **headers):
        return self.ask("POST", path, body, headers)

    def stream(self, path, body):
        """Yields the data of each event."""
        connection = self.connect()
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        for line in response:
            if line.startswith(b"data: "):
                yield line[6:].decode().strip()
        connection.close()
