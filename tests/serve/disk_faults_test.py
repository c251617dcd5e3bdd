#!/usr/bin/env python3
"""A full, a slow and a read-only disk under `longhaul serve --cache-dir`, in the sandbox: python3 disk_faults_test.py BINARY

A library that is loaded before all others makes fsync() fail or wait. Where the test may mount a tmpfs (as root), it also
fills one, and starts a server on a read-only one. Only requests that need the disk may notice."""

import os
import pathlib
import shutil
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


class SmallDisk(unittest.TestCase):
    """A tmpfs of 64 MiB, if the test may mount one."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        command = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", self.folder.name]
        if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode != 0:
            self.skipTest("only root mounts a tmpfs")
        self.addCleanup(subprocess.run, ["umount", "-l", self.folder.name], check=True)
        self.cache = os.path.join(self.folder.name, "cache")

    def server(self):
        return ServerProcess(BINARY, "--cache-dir", self.cache, "-t", "1")

    def fill(self):
        """Takes all room. Returns the file that has it."""
        filler = os.path.join(self.folder.name, "filler")
        with open(filler, "wb", buffering=0) as file:
            for size in (1 << 20, 1 << 12):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError:
                    pass
        return filler

    def remount(self, mode):
        subprocess.run(["mount", "-o", f"remount,{mode}", self.folder.name], check=True)

    def document(self, server, **more):
        return server.post("/v1/documents", {"text": TEXT, **more})

    def await_ready(self, server, document):
        for _ in range(600):
            state = server.ask("GET", "/v1/documents/" + document["id"])[1]
            if state["status"] == "ready":
                return
            time.sleep(0.05)
        self.fail(f"the document was not read: {state}")

    def works_without_the_disk(self, server):
        status, document = self.document(server)
        self.assertEqual(status, 202, document)
        self.await_ready(server, document)
        DiskFaults.answers(self, server, documents=[document["id"]], session="talk")
        self.assertGreaterEqual(server.post("/v1/sessions/talk/save", {})[0], 400)
        self.assertEqual(server.ask("GET", "/health")[0], 200)

    def test_a_full_disk(self):
        with self.server() as server:
            filler = self.fill()
            status, refused = self.document(server, persist=True)
            self.assertEqual((status, refused["error"]["code"]), (507, "insufficient_storage"), refused)
            self.works_without_the_disk(server)
            os.remove(filler)
            self.assertEqual(server.post("/v1/sessions/talk/save", {})[0], 200)
            self.assertEqual(self.document(server, persist=True)[0], 202)
            self.assertEqual(server.stop(), 0)
        self.fill()
        with self.server() as server:  # starts, and has what was saved
            self.assertIn("talk", [session["id"] for session in server.ask("GET", "/v1/sessions")[1]["data"]])
            DiskFaults.answers(self, server)

    def test_a_start_on_a_read_only_disk_is_refused_in_one_line(self):
        self.remount("ro")
        self.addCleanup(self.remount, "rw")
        done = subprocess.run([BINARY, "serve", "-m", "nano", "--listen", "127.0.0.1:0", "--cache-dir", self.cache],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.strip().count("\n"), 0, done.stderr)
        self.assertIn(self.cache, done.stderr)


if __name__ == "__main__":
    unittest.main()
