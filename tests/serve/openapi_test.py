#!/usr/bin/env python3
"""schemathesis against the server's own description: python3 openapi_test.py BINARY [EXAMPLES]

It sends valid and invalid requests of its own to every path of /openapi.json. Nothing answers with 5xx, with another type
or schema of answer, accepts what the description forbids, or serves a method that is not described. 501 is the documented
answer of paths that a generative model cannot serve. Left out is the check that everything valid is accepted: whether
a conversation, a method or a session fits depends on the model. Skipped (77) where schemathesis is not installed."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from server_process import ServerProcess

BINARY = os.path.abspath(sys.argv.pop(1))
EXAMPLES = sys.argv.pop(1) if len(sys.argv) > 1 and sys.argv[1].isdigit() else "10"
PROGRAM = shutil.which("st") or str(pathlib.Path(sys.executable).with_name("st"))
SETTINGS = "".join(f"""
[[operations]]
include-path = "{path}"
checks.not_a_server_error.expected-statuses = ["2xx", "4xx", 501]
""" for path in ("/v1/embeddings", "/embeddings", "/embedding", "/v1/rerank", "/rerank", "/v1/reranking", "/reranking",
                 "/infill", "/api/pull", "/api/push", "/api/create", "/api/copy", "/api/embed", "/api/embeddings",
                 "/api/delete"))
CHECKS = ("not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
          "negative_data_rejection,unsupported_method,use_after_free")
if not os.path.exists(PROGRAM):
    print("skipped: schemathesis is not installed", file=sys.stderr)
    sys.exit(77)


class Description(unittest.TestCase):
    def test_schemathesis_finds_nothing(self):
        with ServerProcess(BINARY, "-t", "1", "--quiet", "--ctx", "2048") as server, \
                tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "schemathesis.toml").write_text(SETTINGS)
            done = subprocess.run(
                [PROGRAM, "run", f"http://127.0.0.1:{server.port}/openapi.json", "-n", EXAMPLES, "--checks", CHECKS,
                 "--phases", "examples,coverage,fuzzing", "-w", "2", "--request-timeout", "120", "--no-color",
                 "--generation-deterministic", "--suppress-health-check", "all"],
                cwd=folder, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout[-12000:] + done.stderr[-2000:])
            status, reply = server.post("/v1/completions", {"prompt": "the grass is", "max_tokens": 2})
            self.assertEqual(status, 200, reply)


if __name__ == "__main__":
    unittest.main()
