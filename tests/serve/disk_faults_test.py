#!/usr/bin/env python3
"""A full and a slow disk under `longhaul serve --cache-dir`, in the sandbox: python3 disk_faults_test.py BINARY

A library that is loaded before all others makes fsync() fail or wait. Only requests that need the disk may notice."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

from server_process import ServerProcess

BINARY = os.path.abspath(sys.argv.pop(1))
SHIM = r"""
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
int fsync(int file) {
  const char* fault = getenv("TEST_DISK");
  (void)file;
  if (fault && fault[0] == 'f') { errno = ENOSPC; return -1; }
  if (fault && fault[0] == 's') sleep(3);
  return 0;
}
"""
TEXT = "The grass is green and the sky is blue. " * 40 + "The pass key is 48213. Remember it. "
QUESTION = [{"role": "user", "content": "The pass key is 48213. What is the pass key?"}]


class DiskFaults(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        source = pathlib.Path(self.folder.name, "shim.c")
        source.write_text(SHIM)
        self.shim = source.with_suffix(".so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.shim, source], check=True)

    def tearDown(self):
        for name in ("LD_PRELOAD", "TEST_DISK"):
            os.environ.pop(name, None)
        self.folder.cleanup()

    def server(self, fault):
        os.environ.update(LD_PRELOAD=str(self.shim), TEST_DISK=fault)
        return ServerProcess(BINARY, "--cache-dir", os.path.join(self.folder.name, "cache"), "-t", "1")

    def answers(self, server, **more):
        status, reply = server.post("/v1/chat/completions", {"messages": QUESTION, "max_tokens": 12, **more})
        self.assertEqual(status, 200, reply)
        self.assertIn("48213", reply["choices"][0]["message"]["content"])

    def test_a_full_disk_refuses_only_what_needs_it(self):
        with self.server("full") as server:
            status, refused = server.post("/v1/documents", {"text": TEXT, "persist": True})
            self.assertEqual((status, refused["error"]["code"]), (507, "insufficient_storage"), refused)
            self.answers(server, session="talk")
            status, refused = server.post("/v1/sessions/talk/save", {})
            self.assertGreaterEqual(status, 400, refused)
            status, document = server.post("/v1/documents", {"text": TEXT})
            self.assertEqual(status, 202, document)
            self.answers(server, documents=[document["id"]])
            time.sleep(1.5)  # snapshots are written when the server is idle
            self.answers(server)
            self.assertEqual(server.ask("GET", "/health")[0], 200)

    def test_a_slow_disk_delays_only_what_needs_it(self):
        with self.server("slow") as server:
            status, document = server.post("/v1/documents", {"text": TEXT, "persist": True})
            self.assertEqual(status, 202, document)
            path = "/v1/documents/" + document["id"]
            for _ in range(600):
                if server.ask("GET", path)[1]["status"] == "ready":
                    break
                time.sleep(0.05)
            self.answers(server, documents=[document["id"]])
            self.assertFalse(server.ask("GET", path)[1]["saved"], "the reply waited for the disk")
            for _ in range(600):
                if server.ask("GET", path)[1]["saved"]:
                    return
                time.sleep(0.05)
            self.fail("the document was not saved")


if __name__ == "__main__":
    unittest.main()
