"""Plays the hub on 127.0.0.1 for the tests: hub_server.py FOLDER. Prints its port on the first line.

FOLDER holds the files of the one repository, some/model. Names of repositories choose a fault:
some/breaks (every connection ends in the middle), some/gated (401 without a token), some/wrong (a
SHA-256 that does not fit), some/moved (files are on another host name), some/rangeless (no ranges),
some/lines (a licence of several lines), some/huge (sizes whose sum overflows), some/slow (a pause).
What was asked goes to FOLDER/.log.
"""

import hashlib
import http.server
import json
import pathlib
import sys
import time

FOLDER = pathlib.Path(sys.argv[1])
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def files():
    return sorted(path for path in FOLDER.iterdir() if not path.name.startswith("."))


class Hub(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer_json(self, value, **headers):
        self.answer(200, json.dumps(value).encode(), **headers)

    def do_GET(self):
        token, ranges = self.headers.get("Authorization"), self.headers.get("Range")
        with open(FOLDER / ".log", "a", encoding="utf-8") as log:
            log.write(f"{self.headers['Host']} {self.path} {token} {ranges}\n")
        path, _, query = self.path.partition("?")
        parts = path.strip("/").split("/")
        if parts[0] == "api":
            self.about("/".join(parts[2:4]), parts[4:], query)
        elif parts[0] == "plain":
            self.send_file(FOLDER / parts[-1], "plain")
        elif len(parts) == 5 and parts[2:4] == ["resolve", COMMIT]:
            self.resolve("/".join(parts[:2]), parts[4])
        else:
            self.answer(404)

    def about(self, name, rest, query):
        if name == "some/gated" and not self.headers.get("Authorization"):
            return self.answer(401)
        if not name.startswith("some/") or name == "some/absent":
            return self.answer(404)
        if not rest:
            lines = "MIT\nerror: \x1b[31mcall \u202e555"
            return self.answer_json({"id": name, "sha": COMMIT, "cardData":
                                     {"license": lines if name == "some/lines" else "apache-2.0"}})
        entries = []
        for path in files():
            data = path.read_bytes()
            digest = hashlib.sha256(b"" if name == "some/wrong" else data).hexdigest()
            entries.append({"type": "file", "path": path.name, "size": len(data),
                            "lfs": {"oid": digest, "size": len(data)}})
        if name == "some/huge":
            entries = [dict(entries[-1], path=f"m-0000{i}-of-00002.gguf", size=2**62) for i in (1, 2)]
        # two pages
        if "cursor" in query:
            return self.answer_json(entries[1:])
        link = f"<http://{self.headers['Host']}/api/models/{name}/tree/{COMMIT}?cursor=1>; rel=\"next\""
        return self.answer_json(entries[:1], Link=link)

    def resolve(self, name, file):
        if name == "some/gated" and self.headers.get("Authorization") != "Bearer right":
            return self.answer(403)
        if name == "some/moved":
            port = self.server.server_address[1]
            return self.answer(302, Location=f"http://localhost:{port}/plain/{file}", ETag='"moved"')
        return self.send_file(FOLDER / file, name)

    def send_file(self, path, name):
        if not path.is_file():
            return self.answer(404)
        data, begin = path.read_bytes(), 0
        if name == "some/slow":
            time.sleep(1)
        ranges = self.headers.get("Range")
        if ranges and name != "some/rangeless":
            begin = int(ranges.removeprefix("bytes=").rstrip("-"))
        rest = data[begin:]
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()[:16]}"')
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        if name == "some/breaks" and len(rest) > 40_000:
            self.wfile.write(rest[:40_000])
            self.close_connection = True
            return None
        self.wfile.write(rest)
        return None


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """Clients may go away in the middle."""


server = Server(("127.0.0.1", 0), Hub)
print(server.server_address[1], flush=True)
server.serve_forever()
