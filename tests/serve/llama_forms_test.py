"""Forms in which llama-server's clients write requests and read replies: llama_forms_test.py PROGRAM"""

import os
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

from server_process import ServerProcess

BINARY = sys.argv.pop(1)
PROMPT = "The pass key is 48213. The pass key is"


class Forms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess(BINARY, "-t", "1", "--quiet", "--metrics", "llamacpp")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def complete(self, path="/completion", **body):
        return self.server.post(path, {"n_predict": 4, "temperature": 0, **body})

    def test_prompts(self):
        status, one = self.complete(prompt=PROMPT)
        self.assertEqual(status, 200)
        tokens = self.server.post("/tokenize", {"content": PROMPT, "add_special": True})[1]["tokens"]
        for prompts in ([PROMPT, PROMPT], [tokens, PROMPT], [tokens, {"prompt_string": PROMPT}]):
            status, replies = self.complete(prompt=prompts)
            self.assertEqual((status, [reply["content"] for reply in replies]), (200, [one["content"]] * 2))
        self.assertEqual(self.complete(prompt={"prompt_string": PROMPT})[1]["content"], one["content"])
        self.assertIsInstance(self.complete(prompt=[*tokens, PROMPT])[1], dict)
        status, refusal = self.complete(prompt={"prompt_string": PROMPT, "multimodal_data": ["AAAA"]})
        self.assertEqual(status, 400)
        self.assertIn("multimodal_data", refusal["error"]["message"])

    def test_paths_without_v1(self):
        self.assertIn("content", self.complete("/completions", prompt=PROMPT)[1])
        messages = {"messages": [{"role": "user", "content": "Hello"}]}
        self.assertGreater(self.server.post("/chat/completions/input_tokens", messages)[1]["input_tokens"], 5)
        self.assertEqual(self.server.post("/responses", {"input": "Hello", "max_output_tokens": 2})[0], 200)
        self.assertEqual(self.server.post("/v1/reranking", {})[0], 501)

    def test_settings_of_a_reply(self):
        settings = self.complete(prompt=PROMPT, ignore_eos=True)[1]["generation_settings"]
        self.assertEqual((settings["n_predict"], settings["temperature"]), (4, 0))
        self.assertTrue(settings["logit_bias"])
        self.assertTrue(all(entry["bias"] is None for entry in settings["logit_bias"]))
        self.assertEqual(self.complete(prompt=PROMPT)[1]["generation_settings"]["logit_bias"], [])

    def test_biases_by_text(self):
        free = self.complete(prompt=PROMPT)[1]["content"]
        self.assertIn("4", free)
        # A key of an object that is a number is a token; a text in a list of pairs is always a text.
        texts = ["4", "48", "48213", " 4", " 48", " 48213"]
        held = self.complete(prompt=PROMPT, logit_bias=[[text, -100] for text in texts])
        self.assertEqual(held[0], 200)
        self.assertNotEqual(held[1]["content"], free)

    def test_rates_leave_the_first_token_out(self):
        one = self.complete(prompt=PROMPT, n_predict=1)[1]["timings"]
        self.assertEqual((one["predicted_per_second"], one["predicted_per_token_ms"]), (0, 0))
        many = self.complete(prompt=PROMPT, n_predict=16, ignore_eos=True)[1]["timings"]
        self.assertAlmostEqual(many["predicted_per_second"] * many["predicted_ms"] / 1000, 15, places=6)

    def test_contradictions_are_refused(self):
        chat = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}
        both = self.server.post("/v1/chat/completions",
                                {**chat, "add_generation_prompt": True, "continue_final_message": True})
        self.assertEqual(both[0], 400)
        form = {"type": "json_object", "schema": 123}
        self.assertEqual(self.server.post("/v1/chat/completions", {**chat, "response_format": form})[0], 400)

    def test_counters(self):
        self.complete(prompt=PROMPT)
        text = self.server.ask("GET", "/metrics")[1]
        for name, kind in (("prompt_tokens_total", "counter"), ("prompt_tokens_cached_total", "counter"),
                           ("requests_processing", "gauge")):
            self.assertIn(f"# TYPE llamacpp:{name} {kind}\n", text)
            self.assertIn(f"# HELP llamacpp:{name} ", text)


def certificate(folder, name):
    files = [os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                    "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


class Certificate(unittest.TestCase):
    def test_sighup_reads_it_again(self):
        with tempfile.TemporaryDirectory() as folder:
            cert, key = certificate(folder, "first")
            server = ServerProcess(BINARY, "-t", "1", "--quiet", "--tls-cert", cert, "--tls-key", key)
            shown = lambda: ssl.get_server_certificate(("127.0.0.1", server.port))  # noqa: E731
            first = shown()
            certificate(folder, "second")
            server.process.send_signal(signal.SIGHUP)
            end = time.monotonic() + 30
            while shown() == first:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)
            with open(key, "w", encoding="utf-8") as file:
                file.write("no key")
            second = shown()
            server.process.send_signal(signal.SIGHUP)  # the earlier certificate stays
            time.sleep(0.3)
            self.assertEqual(shown(), second)
            self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
