#!/usr/bin/env python3
"""`longhaul serve` as its clients see it: python3 tests/serve/program_test.py BINARY"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from server_process import ServerProcess

BINARY = sys.argv.pop(1)
TEXT = "The pass key is 48213. Remember it. " + "The grass is green and the sky is blue. " * 40


def chat(text, **more):
    return {"messages": [{"role": "user", "content": text}], "max_tokens": 24, **more}


class Adapters(unittest.TestCase):
    def test_replies_are_those_of_run_with_the_adapter(self):
        data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")
        model = os.path.join(data, "tiny_models", "llama_linear")
        files = {name: os.path.join(data, "adapters", "llama_" + name) for name in ("linear", "wide")}
        offers = [flag for name, file in files.items() for flag in ("--offer-adapter", f"{name}={file}")]
        with ServerProcess(BINARY, "--alias", "tiny", *offers, model=model) as server:
            names = [entry["id"] for entry in server.ask("GET", "/v1/models")[1]["data"]]
            self.assertEqual(names, ["tiny", "tiny+linear", "tiny+wide"])
            texts = set()
            for name in names:
                body = {"model": name, "prompt": "12 34", "n_predict": 16, "ignore_eos": True}
                status, reply = server.post("/completion", body)
                self.assertEqual(status, 200, reply)
                self.assertEqual(reply["longhaul"].get("adapter"), name[5:] or None)
                lora = ["--lora", files[name[5:]]] if name[5:] else []
                run = subprocess.run([BINARY, "run", "-m", model, "--raw", "-p", "12 34", "-n", "16", "--chunk", "512", "--json",
                                      "--loops", *lora], capture_output=True, text=True, check=True)
                self.assertEqual(reply["content"].strip(), json.loads(run.stdout)["text"].strip())
                texts.add(reply["content"])
            self.assertEqual(len(texts), 3)
            status, reply = server.post("/completion", {"model": "tiny+none", "prompt": "12 34"})
            self.assertEqual((status, reply["error"]["code"]), (404, "model_not_found"))


class Serving(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess(BINARY, "--ctx", "8192", "--offer", "streamingllm")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_replies_are_those_of_run(self):
        question = TEXT + "\nWhat is the pass key?"
        status, reply = self.server.post("/v1/chat/completions", chat(question))
        self.assertEqual(status, 200, reply)
        run = subprocess.run([BINARY, "run", "-m", "nano", "-p", question, "-n", "24", "--chunk", "512", "--quiet",
                              "--loops"], capture_output=True, text=True, check=True)
        self.assertEqual(reply["choices"][0]["message"]["content"].strip(), run.stdout.strip())

    def test_streams_equal_whole_replies(self):
        body = chat(TEXT + "What is the pass key?", stream=True, stream_options={"include_usage": True},
                    return_progress=True)
        events = list(self.server.stream("/v1/chat/completions", body))
        self.assertEqual(events[-1], "[DONE]")
        chunks = [json.loads(event) for event in events[:-1]]
        text = "".join(c["choices"][0]["delta"].get("content", "") for c in chunks if c["choices"])
        del body["stream"], body["stream_options"]
        _, whole = self.server.post("/v1/chat/completions", body)
        self.assertEqual(text, whole["choices"][0]["message"]["content"])
        self.assertEqual(chunks[-1]["usage"]["completion_tokens"], whole["usage"]["completion_tokens"])
        self.assertIn("prompt_progress", chunks[0])

    def test_replies_are_the_same_under_load(self):
        questions = [f"{TEXT} What is {i} and the pass key?" for i in range(6)]
        # Nobody continues another's sequence here: it would be read from a different place.
        bodies = [chat(q, cache_prompt=False, attention=a) for q in questions for a in ("dense", "streamingllm")]
        alone = [self.server.post("/v1/chat/completions", body)[1]["choices"][0]["message"] for body in bodies]
        together = [None] * len(bodies)

        def ask(i):
            together[i] = self.server.post("/v1/chat/completions", bodies[i])[1]["choices"][0]["message"]

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(bodies))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(alone, together)

    def test_a_second_turn_reads_only_its_new_tokens(self):
        messages = [{"role": "user", "content": TEXT}]
        _, first = self.server.post("/v1/chat/completions", {"messages": messages, "max_tokens": 8})
        messages += [first["choices"][0]["message"], {"role": "user", "content": "And what is the key?"}]
        _, second = self.server.post("/v1/chat/completions", {"messages": messages, "max_tokens": 8})
        cached = second["usage"]["prompt_tokens_details"]["cached_tokens"]
        self.assertGreaterEqual(cached, first["usage"]["prompt_tokens"] - 16)

    def test_echo_gives_the_sums_of_perplexity(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            text = TEXT[:600]
            file.write(text)
            file.flush()
            run = subprocess.run([BINARY, "perplexity", "-m", "nano", "-f", file.name, "--json"], capture_output=True,
                                 text=True, check=True)
        nll = json.loads(run.stdout)
        _, reply = self.server.post("/v1/completions", {"prompt": text, "echo": True, "logprobs": 1, "max_tokens": 0})
        logprobs = reply["choices"][0]["logprobs"]["token_logprobs"][1:]
        mean = -sum(logprobs) / len(logprobs)
        self.assertAlmostEqual(mean, find_number(nll, ("nll", "mean_nll", "loss")), delta=0.02)

    def test_a_client_that_goes_stops_its_work(self):
        connection = socket.create_connection(("127.0.0.1", self.server.port))
        body = json.dumps({"prompt": TEXT * 4, "max_tokens": 4000, "ignore_eos": True})
        connection.sendall((f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                            f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
        wait_until(lambda: self.running() > 0)
        connection.close()
        wait_until(lambda: self.running() == 0)

    def running(self):
        metrics = self.server.ask("GET", "/metrics")[1]
        return sum(int(float(line.split()[1])) for line in metrics.splitlines()
                   if line.startswith(("longhaul_running ", "longhaul_waiting ")))

    def test_too_long_prompts_are_refused_with_numbers(self):
        status, reply = self.server.post("/v1/completions", {"prompt": [300] * 8190, "max_tokens": 50})
        self.assertEqual(status, 400)
        self.assertEqual(reply["error"]["code"], "context_length_exceeded")
        self.assertIn("maximum context length is 8192 tokens", reply["error"]["message"])

    def test_hostile_requests(self):
        for raw in (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"\x00\x01\x02\r\n\r\n",
                    b"POST /v1/completions HTTP/1.1\r\nHost: a\r\n b: c\r\n\r\n",
                    b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    b"Content-Length: 1073741824\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", self.server.port)) as connection:
                connection.sendall(raw)
                self.assertRegex(connection.recv(4096), rb"^HTTP/1.1 4\d\d ")
        self.assertEqual(self.server.ask("GET", "/health")[0], 200)


def find_number(json_object, names):
    """The first member with one of these names, at any depth."""
    if isinstance(json_object, dict):
        for name in names:
            if isinstance(json_object.get(name), (int, float)):
                return json_object[name]
        json_object = list(json_object.values())
    if isinstance(json_object, list):
        for value in json_object:
            found = find_number(value, names)
            if found is not None:
                return found
    return None


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not happen in time")
        time.sleep(0.02)


class Starting(unittest.TestCase):
    def refused(self, *flags):
        run = subprocess.run([BINARY, "serve", "-m", "nano", *flags], capture_output=True, text=True, timeout=60,
                             check=False)
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
        return run.stderr

    def test_wrong_settings_end_with_one_line(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            self.assertIn("another program listens there",
                          self.refused("--listen", f"127.0.0.1:{other.getsockname()[1]}"))
        self.assertIn("--api-key-file", self.refused("--listen", "0.0.0.0:0"))
        self.assertIn("--tls-key", self.refused("--tls-cert", "cert.pem"))
        self.assertIn("--offer", self.refused("--listen", "127.0.0.1:0", "--offer", "nothing")
                      .replace("--attention", "--offer"))
        with tempfile.NamedTemporaryFile("w") as keys:
            keys.write("alice " + "0" * 64 + "\n")
            keys.flush()
            os.chmod(keys.name, 0o644)
            self.assertIn("chmod 600", self.refused("--listen", "127.0.0.1:0", "--api-key-file", keys.name))
        self.assertIn("--ctx", self.refused("--listen", "127.0.0.1:0", "--ctx", "100000000000"))
        self.assertIn("--cache-host: does nothing without a GPU",
                      self.refused("--listen", "127.0.0.1:0", "--device", "cpu", "--cache-host", "1GiB"))

    def test_keys_unix_sockets_and_an_orderly_end(self):
        with tempfile.TemporaryDirectory() as folder:
            keys = os.path.join(folder, "keys")
            with open(keys, "w", opener=lambda p, f: os.open(p, f, 0o600), encoding="utf-8") as file:
                # printf secret | sha256sum
                file.write("alice 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\n")
            path = os.path.join(folder, "socket")
            server = ServerProcess(BINARY, "--api-key-file", keys, "--listen", "unix:" + path)
            self.assertEqual(server.ask("GET", "/v1/models")[0], 401)
            status, models = server.ask("GET", "/v1/models", headers={"Authorization": "Bearer secret"})
            self.assertEqual((status, models["data"][0]["id"]), (200, "nano"))
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(path)
                connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertTrue(connection.recv(1000).startswith(b"HTTP/1.1 200"))
            self.assertEqual(server.stop(), 0)

    def test_open_replies_end_before_the_server_does(self):
        server = ServerProcess(BINARY)
        result = []
        thread = threading.Thread(target=lambda: result.append(
            server.post("/v1/completions", {"prompt": TEXT, "max_tokens": 60, "ignore_eos": True})))
        thread.start()
        wait_until(lambda: "longhaul_running 1" in server.ask("GET", "/metrics")[1])
        self.assertEqual(server.stop(), 0)
        thread.join()
        self.assertEqual(result[0][0], 200)
        self.assertEqual(result[0][1]["usage"]["completion_tokens"], 60)


if __name__ == "__main__":
    unittest.main()
