#!/usr/bin/env python3
"""Replies of the Python package are those of the program."""

import json
import pathlib
import tempfile
import unittest

from support import QUESTION, TEXT, nano, run

import longhaul

QUESTIONS = [QUESTION, "What is green?", "Which colour has the sky?", "What must be remembered?"] * 2


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lh = nano()
        cls.doc = cls.lh.read(text=TEXT)

    def test_a_reply_is_that_of_run(self):
        for attention in ("dense", "snapkv:capacity=128", "streamingllm:recent=64", "tova:capacity=256"):
            with self.lh.read(text=TEXT, attention=attention) as doc:
                expected = run("-p", QUESTION, "-n", "24", "--attention", attention)
                self.assertEqual(doc.ask(QUESTION, max_tokens=24).text, expected, attention)

    def test_questions_together_are_those_of_run_questions(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(QUESTIONS))
            file.flush()
            lines = run("--questions", file.name, "-n", "24", "--json").splitlines()
        expected = [json.loads(line)["text"] for line in lines]
        self.assertEqual([reply.text for reply in self.doc.ask_all(QUESTIONS, max_tokens=24)], expected)
        self.assertEqual([self.doc.ask(q, max_tokens=24).text for q in QUESTIONS], expected)

    def test_sampled_replies_repeat_by_their_seed(self):
        options = {"temperature": 0.8, "seed": 7, "max_tokens": 24}
        expected = run("-p", QUESTION, "-n", "24", "--temp", "0.8", "--seed", "7")
        self.assertEqual(self.doc.ask(QUESTION, **options).text, expected)
        self.assertEqual(self.doc.ask(QUESTION, **options).text, expected)

    def test_pieces_of_a_stream_are_the_reply(self):
        stream = self.doc.ask(QUESTION, stream=True, max_tokens=24)
        pieces = list(stream)
        self.assertGreater(len(pieces), 3)
        self.assertEqual("".join(pieces), self.doc.ask(QUESTION, max_tokens=24).text)
        self.assertEqual(stream.reply.text, "".join(pieces))

    def test_sources_are_those_of_run(self):
        reply = self.doc.ask(QUESTION, sources=True)
        report = json.loads(run("-p", QUESTION, "--sources", "--json"))
        self.assertEqual([source.quote for source in reply.sources], [s["quote"] for s in report["sources"]])
        self.assertEqual([source.line for source in reply.sources], [s["line"] for s in report["sources"]])
        self.assertEqual(reply.rests_on_a_passage, report["rests_on_a_passage"])
        self.assertIn("48213", reply.sources[0].quote)
        self.assertEqual(len(reply.sentences), len(report["sentences"]))

    def test_pages_and_headings_of_sources(self):
        text = "[page 1]\nNothing is here.\n[page 2]\nThe pass key is 48213. Remember it.\n[page 3]\n" + TEXT[40:]
        with self.lh.read(text={"book": text}) as doc:
            source = doc.ask(QUESTION, sources=1).sources[0]
        self.assertEqual((source.document, source.page), ("book", 2))

    def test_files_of_sessions_go_both_ways(self):
        with tempfile.TemporaryDirectory() as folder:
            own = pathlib.Path(folder) / "own.session"
            self.doc.save(own)
            expected = self.doc.ask(QUESTION, max_tokens=24).text
            self.assertEqual(run("--load", str(own), "-p", QUESTION, "-n", "24", text=None), expected)
            its = pathlib.Path(folder) / "its.session"
            run("--save", str(its), "-n", "0")
            with self.lh.load(its) as loaded:
                reply = loaded.ask(QUESTION, max_tokens=24)
                self.assertEqual(reply.text, expected)
                self.assertGreaterEqual(reply.report.cached_tokens, len(self.doc.tokens) - 1)
                self.assertEqual(loaded.logits().tobytes(), self.doc.logits().tobytes())

    def test_forks_read_as_much_as_they_must(self):
        for attention in ("dense", "snapkv:capacity=128", "streamingllm:recent=64"):
            with self.doc.fork(attention=attention) as fork:
                expected = run("-p", QUESTION, "-n", "24", "--attention", attention)
                self.assertEqual(fork.ask(QUESTION, max_tokens=24).text, expected)
        with self.doc.fork(kv_type="q8_0") as fork:
            self.assertLess(fork.report["kv_bytes"], self.doc.report["kv_bytes"])
            self.assertEqual(fork.ask(QUESTION, max_tokens=24).text, run("-p", QUESTION, "-n", "24", "--kv-type", "q8_0"))

    def test_prompts_continue_bare_texts(self):
        prompts = ["The sky is", "Once upon a time", "The pass key is"]
        replies = self.lh.generate(prompts, max_tokens=12)
        for prompt, reply in zip(prompts, replies):
            self.assertEqual(reply.text, run("--raw", "-p", prompt, "-n", "12", text=None))

    def test_a_conversation_reads_only_its_new_messages(self):
        messages = [{"role": "user", "content": TEXT + QUESTION}]
        first = self.lh.create_chat_completion(messages=messages, max_tokens=24)
        self.assertEqual(first["choices"][0]["message"]["content"], run("-p", TEXT + QUESTION, "-n", "24", text=None))
        self.assertEqual(first["choices"][0]["finish_reason"], "stop")
        messages += [first["choices"][0]["message"], {"role": "user", "content": "And what is green?"}]
        second = self.lh.create_chat_completion(messages=messages, max_tokens=24)
        cached = second["usage"]["prompt_tokens_details"]["cached_tokens"]
        self.assertGreaterEqual(cached, first["usage"]["prompt_tokens"] - 16)
        with longhaul.Longhaul("nano") as fresh:
            cold = fresh.create_chat_completion(messages=messages, max_tokens=24)
        self.assertEqual(cold["choices"][0]["message"], second["choices"][0]["message"])

    def test_chunks_of_a_chat_are_its_message(self):
        messages = [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}]
        chunks = list(self.lh.create_chat_completion(messages=messages, max_tokens=12, stream=True))
        self.assertEqual(chunks[0]["choices"][0]["delta"], {"role": "assistant"})
        text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
        whole = self.lh.create_chat_completion(messages=messages, max_tokens=12)
        self.assertEqual(text, whole["choices"][0]["message"]["content"])
        self.assertEqual(chunks[-1]["choices"][0]["finish_reason"], whole["choices"][0]["finish_reason"])
        self.assertEqual({chunk["object"] for chunk in chunks}, {"chat.completion.chunk"})

    def test_constraints_hold(self):
        schema = {"type": "object", "properties": {"key": {"type": "integer"}}, "required": ["key"],
                  "additionalProperties": False}
        reply = self.doc.ask(QUESTION, json_schema=schema)
        self.assertIsInstance(json.loads(reply.text)["key"], int)
        self.assertRegex(self.doc.ask(QUESTION, regex="[0-9]{5}").text, "^[0-9]{5}$")
        chat = self.lh.create_chat_completion(messages=[{"role": "user", "content": "A JSON object?"}], max_tokens=64,
                                              response_format={"type": "json_object", "schema": schema})
        self.assertIsInstance(json.loads(chat["choices"][0]["message"]["content"])["key"], int)

    def test_tokens_and_their_texts(self):
        tokens = self.lh.tokenize(b"The grass is green.")
        self.assertEqual(self.lh.detokenize(tokens), b"The grass is green.")
        self.assertEqual(tokens, self.lh.tokenize("The grass is green."))

    def test_logits_are_a_view_that_lives_on(self):
        doc = self.lh.read(text=TEXT)
        logits, again = doc.logits(), doc.logits()
        self.assertEqual(logits.__array_interface__["data"][0], again.__array_interface__["data"][0])
        self.assertFalse(logits.flags.writeable)
        self.assertEqual((logits.dtype, logits.shape), ("float32", (self.lh.info["vocab"],)))
        copy = logits.tobytes()
        doc.close()
        del doc, again
        self.lh.read(text="Another text about the sea and its tides." * 20).close()
        self.assertEqual(logits.tobytes(), copy)

    def test_what_rows_attend_to(self):
        with self.lh.read(text=TEXT, attention="streamingllm:sink=4,recent=64") as doc:
            with longhaul.observe(doc) as seen:
                reply = doc.ask(QUESTION, max_tokens=4)
        self.assertTrue(seen.complete)
        self.assertEqual(seen.unknown, 0)
        rows = reply.report.reply_tokens - 1  # the last token is not read
        self.assertEqual(sum(seen.heads), rows * self.lh.info["layers"] * self.lh.info["query_heads"])
        for entry in range(len(seen)):
            keys = list(seen.seen(entry))
            self.assertEqual(keys[:4], [0, 1, 2, 3])
            self.assertEqual(keys[-1], seen.position[entry])
            self.assertLessEqual(len(keys), 4 + 64 + 1)

    def test_forecast_and_advice(self):
        dense, streaming = self.lh.forecast(100_000, ["dense", "streamingllm"])
        self.assertGreater(dense.kv_bytes, 10 * streaming.kv_bytes)
        self.assertFalse(dense.within_trained_length)
        self.assertEqual(self.lh.advise(text=TEXT)[0].attention, "dense")
        self.assertNotEqual(self.lh.advise(tokens=20_000)[0].attention, "dense")

    def test_progress_is_told_in_order(self):
        told = []
        self.lh.read(text=TEXT, progress=lambda done, total, left: told.append((done, total, left))).close()
        self.assertEqual(told, sorted(told, key=lambda t: t[0]))
        self.assertEqual(told[-1][0], told[-1][1])


if __name__ == "__main__":
    unittest.main()
