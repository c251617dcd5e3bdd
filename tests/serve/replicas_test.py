#!/usr/bin/env python3
"""Two servers behind a proxy: python3 tests/serve/replicas_test.py BINARY nginx|haproxy [REQUESTS]

All requests of a session go to one server. When one is killed, only its sessions move, and requests
whose reply has not begun are repeated. When it returns, its sessions return.
"""

import collections
import concurrent.futures
import http.client
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from server_process import ServerProcess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY, PROXY = sys.argv.pop(1), sys.argv.pop(1)
REQUESTS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 200
SESSIONS = min(100, REQUESTS // 2)
AT_A_TIME = 4


def program():
    """Debian has these programs in a folder that is not on every path."""
    return shutil.which(PROXY, path="/usr/sbin:/usr/bin:/sbin:/bin") or shutil.which(PROXY)


if program() is None:
    print(f"{PROXY} is not installed: skipped")
    sys.exit(77)


class Replica(ServerProcess):
    def __init__(self, name, port=0):
        super().__init__(BINARY, "-t", "1", "--alias", name, "--quiet", "--listen", f"127.0.0.1:{port}")
        self.name = name

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate(timeout=30)


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not happen in time")
        time.sleep(0.05)


class Replicas(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="longhaul-replicas-")
        self.addCleanup(self.folder.cleanup)
        self.servers = [Replica("one"), Replica("two")]
        self.addCleanup(lambda: [server.stop() for server in self.servers])
        self.start_proxy()

    def start_proxy(self):
        """Runs the configuration of packaging/ with other ports. A proxy whose port is in use ends, so another is tried."""
        for _ in range(5):
            self.run_proxy(random.randint(20000, 32000))  # below the ports that clients get
            wait_for(lambda: self.try_health() == 200 or self.proxy.poll() is not None)
            if self.proxy.poll() is None:
                self.addCleanup(lambda: (self.proxy.terminate(), self.proxy.wait(30)))
                return
        self.fail("no port is free for the proxy")

    def run_proxy(self, port):
        self.port = port
        source = "nginx.conf" if PROXY == "nginx" else "haproxy.cfg"
        text = (ROOT / "packaging" / source).read_text()
        for given, own in (("127.0.0.1:8080", self.port), ("127.0.0.1:8081", self.servers[0].port),
                           ("127.0.0.1:8082", self.servers[1].port)):
            self.assertIn(given, text)
            text = text.replace(given, f"127.0.0.1:{own}")
        config = pathlib.Path(self.folder.name) / source
        config.write_text(text)
        command = ([program(), "-c", str(config), "-p", self.folder.name, "-g", "daemon off;"] if PROXY == "nginx"
                   else [program(), "-f", str(config), "-db"])
        self.proxy = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def try_health(self):
        try:
            return self.request("GET", "/health/ready")[0]
        except OSError:
            return 0

    def request(self, method, path, body=None, headers=None, port=None):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=120)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def ask(self, session, header="X-Session-Id", tokens=1):
        """The name of the server that answers."""
        body = {"messages": [{"role": "user", "content": f"Session {session}: what is a ferry?"}], "max_tokens": tokens}
        status, text = self.request("POST", "/v1/chat/completions", json.dumps(body), {header: str(session)} if header else {})
        self.assertEqual(status, 200, text)
        return json.loads(text)["model"]

    def ask_all(self, sessions):
        """Server names by session."""
        names = collections.defaultdict(set)
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            for session, name in zip(sessions, pool.map(self.ask, sessions)):
                names[session].add(name)
        return names

    def test_sessions_stay_move_and_return(self):
        sessions = [f"s{i % SESSIONS}" for i in range(REQUESTS)]
        before = self.ask_all(sessions)
        self.assertEqual({len(names) for names in before.values()}, {1}, "a session went to two servers")
        shares = collections.Counter(next(iter(names)) for names in before.values())
        self.assertGreaterEqual(min(shares["one"], shares["two"]), SESSIONS // 5, shares)

        # kill -9 while requests run: all of them are answered, and only the dead server's sessions move.
        dead = self.servers[0]
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            running = [pool.submit(self.ask, session) for session in sessions]
            wait_for(lambda: sum(each.done() for each in running) >= REQUESTS // 4)
            dead.kill()
            late = [each.result() for each in running]
        self.assertIn("two", late)
        after = self.ask_all(set(sessions))
        self.assertEqual({name for names in after.values() for name in names}, {"two"})
        for session, name in zip(sessions, late):
            if "two" in before[session]:
                self.assertEqual(name, "two", "a session of the living server moved")

        # It returns at the same port, and so do its sessions.
        self.servers[0] = Replica("one", dead.port)
        wait_for(lambda: self.ask_all(set(sessions)) == before)

    def test_other_streams_survive(self):
        """A stream of the living server goes on when the other one is killed."""
        session = next(s for s in map(str, range(100)) if self.ask(s) == "two")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        body = {"messages": [{"role": "user", "content": "Count."}], "max_tokens": 60, "stream": True, "ignore_eos": True}
        connection.request("POST", "/v1/chat/completions", json.dumps(body),
                           {"Content-Type": "application/json", "X-Session-Id": session})
        response = connection.getresponse()
        self.assertTrue(response.readline().startswith(b"data: "), "the proxy holds the stream back")
        self.servers[0].kill()
        rest = response.read()
        self.assertTrue(rest.rstrip().endswith(b"data: [DONE]"), rest[-200:])
        connection.close()

    def test_headers_of_agents_and_no_header(self):
        for header in ("X-Claude-Code-Session-Id", "session-id", "X-Conversation-Id"):
            names = {session: {self.ask(session, header) for _ in range(2)} for session in range(12)}
            self.assertEqual({len(each) for each in names.values()}, {1}, header)
            self.assertEqual(set.union(*names.values()), {"one", "two"}, header)
        self.assertEqual(len({self.ask(i, None) for i in range(6)}), 1)

    def test_a_loading_or_missing_server_is_passed_over(self):
        self.servers[0].kill()
        self.assertEqual({self.ask(session) for session in range(10)}, {"two"})
        self.servers[1].kill()
        status, _ = self.request("GET", "/health/ready")
        self.assertIn(status, (502, 503))

    def test_a_long_body_is_refused(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.putrequest("POST", "/v1/chat/completions")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(70 << 20))
        connection.endheaders()
        self.assertEqual(connection.getresponse().status, 413)
        connection.close()


if __name__ == "__main__":
    unittest.main()
