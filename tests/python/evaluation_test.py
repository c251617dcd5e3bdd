#!/usr/bin/env python3
"""Evaluations: shards, grids, the adapter for lm-evaluation-harness, the table of presses."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from support import QUESTION, TEXT, THREADS, nano

import longhaul
from longhaul._program import program

SETTINGS = dict(attention=["dense", "streamingllm:recent=64"], lengths=[256, 384], samples=5, threads=THREADS)


def without_times(records):
    """Lines of records, sorted, without what a clock measured."""
    clocks = ("seconds", "tokens_per_second")
    return sorted(json.dumps({key: value for key, value in record.items() if not key.endswith(clocks)}) for record in records)


class Shards(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="longhaul-shards-")
        cls.path = pathlib.Path(cls.folder.name)
        cls.whole = longhaul.eval(["passkey", "magic"], "nano", **SETTINGS, out=cls.path / "whole")
        for i in range(1, 5):
            longhaul.eval(["passkey", "magic"], "nano", **SETTINGS, shard=f"{i}/4", out=cls.path / f"s{i}")
        cls.parts = [cls.path / f"s{i}" for i in range(1, 5)]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def report(self, *arguments):
        return subprocess.run([program(), "report", *map(str, arguments)], capture_output=True, text=True)

    def refused(self, words, *arguments):
        done = self.report(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_four_merged_shards_equal_one_run(self):
        merged = longhaul.eval.merge(reversed(self.parts), self.path / "merged")
        self.assertEqual(without_times(merged.records), without_times(self.whole.records))
        self.assertEqual(merged.scores(), self.whole.scores())
        for key in ("tasks", "methods", "lengths", "samples", "conditions", "settings"):
            self.assertEqual(merged.run[key], self.whole.run[key], key)
        again = longhaul.eval.merge(self.parts, self.path / "again")
        self.assertEqual(json.dumps(again.records), json.dumps(merged.records), "the order of folders matters")
        done = self.report(*self.parts, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_parts_that_do_not_belong_together_are_refused(self):
        self.refused(("shard 3/4 is missing",), *self.parts[:2], self.parts[3])
        self.refused(("no shard",), *self.parts, self.path / "whole")
        copy = self.path / "copy"
        subprocess.run(["cp", "-r", self.parts[1], copy], check=True)
        self.refused(("shard 2/4 is also in",), *self.parts, copy)
        for change, words in (({"build": "another"}, ("build",)), ({"conditions": {"seed": 9}}, ("seed is 9",)),
                              ({"conditions": {"model": "0"}}, ("another model",)),
                              ({"unfinished": {}}, ("not finished",)), ({"conditions": {"shard": "5/4"}}, ("5/4",))):
            run = json.loads((self.parts[1] / "run.json").read_text())
            for key, value in change.items():
                run[key] = {**run[key], **value} if isinstance(value, dict) and key in run else value
            (copy / "run.json").write_text(json.dumps(run))
            self.refused(words, self.parts[0], copy, *self.parts[2:])
        subprocess.run(["rm", "-r", copy], check=True)

    def test_records_that_occur_twice_are_refused(self):
        copy = self.path / "twice"
        subprocess.run(["cp", "-r", self.parts[1], copy], check=True)
        with open(copy / "samples.jsonl", "a") as file:
            file.write((self.parts[0] / "samples.jsonl").read_text().splitlines()[0] + "\n")
        self.refused(("is also in",), self.parts[0], copy, *self.parts[2:])
        subprocess.run(["rm", "-r", copy], check=True)

    def test_numbers_of_shards(self):
        for shard in ("5/4", "0/4", "1/0", "a/4", "1", "1/4x", "-1/4"):
            done = subprocess.run([program(), "eval", "passkey", "-m", "nano", "--lengths", "256", f"--shard={shard}"],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"--shard '{shard}'", done.stderr)

    def test_a_folder_of_one_shard_takes_no_other(self):
        with self.assertRaisesRegex(longhaul.UserError, "shard"):
            longhaul.eval(["passkey", "magic"], "nano", **SETTINGS, shard="2/4", out=self.parts[0])

    def test_a_grid_with_a_killed_worker_gives_the_same(self):
        stop = threading.Event()
        killed = []

        def kill_one():
            while not stop.is_set() and not killed:
                found = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "eval passkey,magic"], capture_output=True,
                                       text=True).stdout.split()
                if found:
                    os.kill(int(found[0]), 9)
                    killed.append(found[0])
                time.sleep(0.01)

        killer = threading.Thread(target=kill_one)
        killer.start()
        try:
            result = longhaul.eval.grid(["passkey", "magic"], "nano", **SETTINGS, unit=3, workers=2)
        finally:
            stop.set()
            killer.join()
        self.assertTrue(killed)
        self.assertEqual(without_times(result.records), without_times(self.whole.records))

    def test_a_table_of_answers(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            print("pandas is not installed: no table", file=sys.stderr)
            return
        table = self.whole.to_pandas()
        self.assertEqual(len(table), len(self.whole.records))
        self.assertLessEqual({"task", "length", "method", "score", "kv_bytes"}, set(table.columns))


class Scores(unittest.TestCase):
    """Sums of log-likelihoods equal those of `longhaul perplexity`."""

    def perplexity(self, text, prefill):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(text)
            file.flush()
            done = subprocess.run([program(), "perplexity", file.name, "-m", "nano", "-t", str(THREADS), "--json", "--ctx", "2048",
                                   *(["--prefill", str(prefill)] if prefill else [])], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def test_choices_are_scored_as_perplexity_does(self):
        lh = nano()
        tokens = lh.tokenize(TEXT, special=True)
        for cut in (len(tokens) - 3, len(tokens) - 30):  # decoded together, and read at once
            report = self.perplexity(TEXT, cut)
            scored = lh._model.score(tokens[:cut], [tokens[cut:], tokens[cut:cut + 2]])
            total = scored[0][0]
            mean = report["nll"] if "nll" in report else report["mean_nll"]
            self.assertAlmostEqual(-total / (len(tokens) - cut), mean, delta=2e-3)
            self.assertEqual([s[2] for s in scored], [len(tokens) - cut, 2])

    def test_greedy_is_what_generate_gives(self):
        lh = nano()
        prompt = lh.tokenize("The sky is", special=True)
        reply = lh.generate([prompt], max_tokens=4, loops=True)[0]
        other = [(reply.tokens[0] + 1) % lh.info["vocab"]]
        self.assertEqual([s[1] for s in lh._model.score(prompt, [reply.tokens, other])], [True, False])

    def test_the_adapter_of_lm_eval(self):
        try:
            from longhaul.lm_eval import LonghaulLM
            from lm_eval.api.instance import Instance
        except ImportError as error:
            print(f"lm_eval is not installed ({error}): no adapter", file=sys.stderr)
            return
        lm = LonghaulLM(nano(), max_length=512)

        def instances(kind, arguments):
            return [Instance(kind, {}, each, i) for i, each in enumerate(arguments)]

        context = "The grass is green and the sky is"
        scores = lm.loglikelihood(instances("loglikelihood", [(context, " blue"), (context, " green and red"), ("", "Ships")]))
        lh = nano()
        whole = lh.tokenize(context, special=True)
        blue = lh._model.score(whole, [lh.tokenize(context + " blue", special=True)[len(whole):]])[0]
        self.assertAlmostEqual(scores[0][0], blue[0], delta=1e-6)
        self.assertEqual(len(scores), 3)
        rolling = lm.loglikelihood_rolling(instances("loglikelihood_rolling", [(TEXT,)]))
        tokens = lh.tokenize(TEXT, False, True)
        by_hand = lh._model.score([lm.prefix_token_id], [tokens[:512]])[0][0]
        self.assertLess(rolling[0], 0)
        if len(tokens) <= 512:
            self.assertAlmostEqual(rolling[0], by_hand, delta=1e-3)
        texts = lm.generate_until(instances("generate_until", [(TEXT + QUESTION, {"until": ["."], "max_gen_toks": 8}),
                                                              ("The sky", {"until": [], "max_gen_toks": 4})]))
        self.assertNotIn(".", texts[0])
        self.assertEqual(texts[1], lh.generate(["The sky"], max_tokens=4, loops=True)[0].text)


class Presses(unittest.TestCase):
    def test_presses_are_methods(self):
        from longhaul.compat import kvpress
        lh = nano()
        tokens = len(lh.tokenize(TEXT))
        presses = [kvpress.SnapKVPress(0.5), kvpress.PyramidKVPress(0.5), kvpress.TOVAPress(0.5),
                   kvpress.StreamingLLMPress(0.5), kvpress.KeyDiffPress(0.5), kvpress.ExpectedAttentionPress(0.5),
                   kvpress.RandomPress(0.5), kvpress.AdaKVPress(kvpress.SnapKVPress(0.5)), kvpress.DuoAttentionPress(0.5)]
        self.assertEqual({type(press).__name__ for press in presses}, set(kvpress.PRESSES))
        for press in presses:
            method = press.attention(tokens)
            self.assertEqual(method.partition(":")[0], kvpress.PRESSES[type(press).__name__][0])
            self.assertTrue(lh.forecast(tokens, method)[0].fits)
        pipe = kvpress.pipeline("kv-press-text-generation", model=lh)
        self.assertIn("48213", pipe(TEXT, question=QUESTION, max_new_tokens=24)["answer"])
        answers = pipe(TEXT, questions=[QUESTION] * 2, press=kvpress.SnapKVPress(0.25))["answers"]
        self.assertEqual(len(answers), 2)
        with self.assertRaisesRegex(longhaul.UserError, "compression_ratio"):
            kvpress.SnapKVPress(1.5)


if __name__ == "__main__":
    unittest.main()
