#!/usr/bin/env python3
"""lm-evaluation-harness against the server: python3 lm_eval_test.py BINARY

The harness's model `local-completions` scores items of our own over HTTP. Its sums equal those of `longhaul perplexity`
for the same texts. Skipped (77) where lm_eval is not installed."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from server_process import ServerProcess

BINARY = os.path.abspath(sys.argv.pop(1))
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("no_proxy", "127.0.0.1,localhost")
try:
    from lm_eval.api.instance import Instance
    from lm_eval.api.registry import get_model
    get_model("local-completions")
except ImportError as missing:
    print(f"skipped: lm_eval cannot be imported ({missing})", file=sys.stderr)
    sys.exit(77)

TEXTS = ["The grass is green and the sky is blue, and a ferry crosses the bay at noon.",
         "A heron stands in the shallow water. It waits. Nothing moves until a fish comes near the reeds.",
         "def area(width, height):\n    return width * height\n"]
CHOICES = [("The pass key is 48213. Remember it. What is the pass key? The pass key is", " 48213"),
           ("The pass key is 48213. Remember it. What is the pass key? The pass key is", " 90566"),
           (TEXTS[0] + " A heron stands", " in the shallow water.")]


def item(kind, arguments, number):
    return Instance(request_type=kind, doc={}, arguments=arguments, idx=number, metadata=("own", number, 1))


def sum_of_perplexity(text):
    """ln of the probability of the text's tokens after its first one, and their number."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(text)
        file.flush()
        out = subprocess.run([BINARY, "perplexity", "-m", "nano", "-f", file.name, "--json", "--quiet", "--ctx", "512",
                              "--chunk", "512", "-t", "1"], capture_output=True, text=True, check=True).stdout
    figures = json.loads(out)
    return -figures["mean_nll"] * figures["tokens_scored"], figures["tokens_scored"]


class LmEval(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess(BINARY, "-t", "1")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def model(self, prefix=None):
        return get_model("local-completions")(
            model="nano", base_url=f"http://127.0.0.1:{self.server.port}/v1/completions", tokenizer_backend="auto",
            tokenized_requests=True, num_concurrent=1, max_retries=1, max_length=2048, batch_size=2,
            custom_prefix_token_id=prefix)

    def tokens(self, text):
        return self.server.post("/tokenize", {"content": text, "add_special": False})[1]["tokens"]

    def test_choices_have_the_sums_of_perplexity(self):
        # Products of few rows round in another way, so the sum of the context alone differs in its last bits.
        scored = self.model().loglikelihood([item("loglikelihood", pair, i) for i, pair in enumerate(CHOICES)])
        for (context, choice), (total, _) in zip(CHOICES, scored):
            own = sum_of_perplexity(context + choice)[0] - sum_of_perplexity(context)[0]
            self.assertAlmostEqual(total, own, delta=0.002, msg=context + choice)
        self.assertGreater(scored[0][0], scored[1][0] + 3, "the model knows the key")

    def test_whole_texts_have_the_sums_of_perplexity(self):
        # `perplexity` scores all tokens after the first one, which is the harness's prefix here.
        for number, text in enumerate(TEXTS):
            first, *rest = self.tokens(text)
            left = self.server.post("/detokenize", {"tokens": rest})[1]["content"]
            self.assertEqual(self.tokens(left), rest)
            total, = self.model(first).loglikelihood_rolling([item("loglikelihood_rolling", (left,), number)])
            own, count = sum_of_perplexity(text)
            self.assertEqual(count, len(rest))
            self.assertAlmostEqual(total, own, delta=0.0005, msg=text)


if __name__ == "__main__":
    unittest.main()
