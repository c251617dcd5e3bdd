#!/usr/bin/env python3
"""Errors of the Python package: one line that names the cause."""

import os
import tempfile
import unittest

from support import QUESTION, TEXT, nano

import longhaul
from longhaul import Longhaul, UserError


class Errors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lh = nano()
        cls.doc = cls.lh.read(text=TEXT)

    def refused(self, words, call):
        with self.assertRaises(UserError) as caught:
            call()
        message = str(caught.exception)
        self.assertNotIn("\n", message)
        for word in words if isinstance(words, tuple) else (words,):
            self.assertIn(word, message)

    def test_models_and_their_settings(self):
        self.refused(("nanoo", "did you mean 'nano'"), lambda: Longhaul("nanoo"))
        self.refused("/no/such.gguf", lambda: Longhaul("/no/such.gguf"))
        self.refused(("atention", "did you mean 'attention'"), lambda: Longhaul("nano", atention="dense"))
        self.refused(("threads='two'", "str", "int"), lambda: Longhaul("nano", threads="two"))
        self.refused("threads=True", lambda: Longhaul("nano", threads=True))
        self.refused("threads=-1", lambda: Longhaul("nano", threads=-1))
        self.refused("q9_0", lambda: Longhaul("nano", kv_type="q9_0"))
        self.refused("unknown method", lambda: Longhaul("nano", attention="dens"))
        self.refused("half", lambda: Longhaul("nano", compute="half"))
        self.refused("'2 gigs'", lambda: Longhaul("nano", memory_limit="2 gigs"))

    def test_options_of_replies(self):
        ask = self.doc.ask
        self.refused(("max_token'", "did you mean 'max_tokens'"), lambda: ask(QUESTION, max_token=3))
        self.refused(("max_tokens='ten'", "str", "int"), lambda: ask(QUESTION, max_tokens="ten"))
        self.refused("temperature=-1", lambda: ask(QUESTION, temperature=-1))
        self.refused("top_p=nan", lambda: ask(QUESTION, top_p=float("nan")))
        self.refused("question=7", lambda: ask(7))
        self.refused("empty text", lambda: ask(QUESTION, stop=""))
        self.refused("regex", lambda: ask(QUESTION, regex="(", max_tokens=3))
        self.refused("does not go with", lambda: ask(QUESTION, regex="a", grammar="root ::= \"a\""))
        self.refused("list of texts", lambda: self.doc.ask_all(QUESTION))
        self.refused("max_token'", lambda: self.doc.ask_all([QUESTION], max_token=1))

    def test_texts_and_files(self):
        self.refused("/no/such/file", lambda: self.lh.read("/no/such/file"))
        self.refused("no text", lambda: self.lh.read())
        self.refused("empty", lambda: self.lh.read(text=" \n"))
        self.refused("/no/such.session", lambda: self.lh.load("/no/such.session"))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "text.session")
            with open(path, "w") as file:
                file.write("This is not a session.")
            self.refused(path, lambda: self.lh.load(path))
            self.refused("nowhere", lambda: self.doc.save(os.path.join(folder, "nowhere", "x.session")))
            self.doc.save(path)
            with Longhaul("nano", attention="streamingllm") as other:
                self.refused(path, lambda: other.load(path))

    def test_after_close(self):
        doc = self.lh.read(text=TEXT)
        doc.close()
        for call in (lambda: doc.ask(QUESTION), lambda: doc.logits(), lambda: doc.fork(), lambda: doc.save("/tmp/x")):
            self.refused("closed", call)
        lh = Longhaul("nano")
        doc = lh.read(text=TEXT)
        lh.close()
        self.refused("closed", lambda: lh.ask(QUESTION))
        self.refused("closed", lambda: lh.create_chat_completion(messages=[]))
        self.assertIn("48213", doc.ask(QUESTION, max_tokens=24).text)  # a session keeps what it needs

    def test_forks_to_other_methods(self):
        self.refused(("duoo", "did you mean 'duo'"), lambda: self.doc.fork(attention="duoo"))
        self.refused("snapkv", lambda: self.doc.fork(attention="snapkv:capacity=0"))
        self.refused("capasity", lambda: self.doc.fork(attention="snapkv:capasity=64"))
        with self.doc.fork(attention="snapkv:capacity=64") as fork:
            self.refused("snapkv", lambda: fork.save("/tmp/x.session"))

    def test_chats(self):
        chat = self.lh.create_chat_completion
        user = [{"role": "user", "content": "Hello"}]
        self.refused("messages", lambda: chat(messages="Hello"))
        self.refused("messages[0]", lambda: chat(messages=["Hello"]))
        self.refused("text only", lambda: chat(messages=[{"role": "user", "content": [{"type": "image_url"}]}]))
        self.refused("'stop'", lambda: chat(messages=user, stops=["x"]))
        self.refused("logprobs=True", lambda: chat(messages=user, logprobs=True))
        self.refused("response_format", lambda: chat(messages=user, response_format={"type": "xml"}))

    def test_memory_limits(self):
        with Longhaul("nano", memory_limit="400M") as small:
            self.refused("memory", lambda: small.read(text=TEXT * 200))
            self.assertIn("48213", small.read(text=TEXT).ask(QUESTION, max_tokens=24).text)
        with Longhaul("nano", ctx=64) as short:
            self.refused("64", lambda: short.read(text=TEXT))

    def test_a_text_beyond_the_trained_length_is_warned_of(self):
        with self.assertWarnsRegex(UserWarning, "trained for"):
            self.lh.read(text=TEXT * 18).close()

    def test_evaluations(self):
        self.refused("no-such-task", lambda: longhaul.eval("no-such-task", "nano"))
        self.refused("5/4", lambda: longhaul.eval("passkey", "nano", lengths=[256], samples=1, shard="5/4"))
        self.refused("backend='spark'", lambda: longhaul.eval.grid("passkey", "nano", backend="spark"))


if __name__ == "__main__":
    unittest.main()
