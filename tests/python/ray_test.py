#!/usr/bin/env python3
"""Ray Serve with two replicas, one of which is killed. Skipped where Ray is not installed."""

import concurrent.futures
import json
import os
import random
import signal
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

from support import THREADS

try:
    import httpx  # noqa: F401
    import ray
    from ray import serve
except ImportError as error:
    print(f"Ray Serve is not installed ({error}): skipped")
    sys.exit(77)

SESSIONS = 30


class Ray(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.port = random.randint(20000, 59999)
        variables = {name: os.environ[name] for name in ("PYTHONPATH", "LONGHAUL_MODELS") if name in os.environ}
        ray.init(num_cpus=2, include_dashboard=False, logging_level="error", runtime_env={"env_vars": variables})
        serve.start(http_options={"port": cls.port})
        from longhaul.ray import app
        # Arguments of the command line are texts.
        serve.run(app({"model": "nano", "replicas": "2", "threads": str(THREADS), "alias": "nano-ray"}))

    @classmethod
    def tearDownClass(cls):
        serve.shutdown()
        ray.shutdown()

    def servers(self):
        found = subprocess.run(["pgrep", "-f", "[l]onghaul serve .*--alias nano-ray"], capture_output=True, text=True)
        return [int(pid) for pid in found.stdout.split()]

    def ask(self, session):
        """Status, and the tokens that were known already."""
        body = {"messages": [{"role": "user", "content": f"Session {session}: what is a ferry?"}], "max_tokens": 1}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/v1/chat/completions", json.dumps(body).encode(),
                                         {"Content-Type": "application/json", "X-Session-Id": str(session)})
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                return reply.status, json.load(reply)["usage"]["prompt_tokens_details"]["cached_tokens"]
        except urllib.error.HTTPError as error:
            return error.code, 0

    def ask_all(self, sessions):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            return list(pool.map(self.ask, sessions))

    def test_sessions_stay_and_a_killed_server_is_replaced(self):
        self.assertEqual(len(self.servers()), 2)
        for _ in range(2):
            replies = self.ask_all(range(SESSIONS))
            self.assertEqual({status for status, _ in replies}, {200})
        # A replica that has answered a session knows its prompt.
        replies = self.ask_all(range(SESSIONS))
        self.assertEqual(sum(cached > 0 for _, cached in replies), SESSIONS)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            running = [pool.submit(self.ask, i % SESSIONS) for i in range(4 * SESSIONS)]
            time.sleep(0.5)
            os.kill(self.servers()[0], signal.SIGKILL)
            statuses = [each.result()[0] for each in running]
        self.assertEqual(set(statuses), {200})


if __name__ == "__main__":
    unittest.main()
