#!/usr/bin/env python3
"""Threads, signals and the end of replies; memory."""

import gc
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest

from support import QUESTION, TEXT, child, nano

import longhaul
from longhaul._reply import finish_all

LONG = TEXT * 20  # some 10,000 tokens, which take seconds


def resident_bytes():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Threads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lh = nano()
        cls.doc = cls.lh.read(text=TEXT)

    def tearDown(self):
        # Whatever a test did, the model answers afterwards.
        self.assertIn("48213", self.doc.ask(QUESTION, max_tokens=24).text)

    def test_eight_threads_get_what_one_gets(self):
        questions = [f"{QUESTION} It is asked by thread {i}." for i in range(8)]
        alone = [self.doc.ask(question, max_tokens=16).text for question in questions]
        together = [None] * 8
        errors = []

        def ask(i):
            try:
                for _ in range(3):
                    together[i] = self.doc.ask(questions[i], max_tokens=16).text
            except BaseException as error:  # noqa: BLE001
                errors.append(error)

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.assertEqual(together, alone)

    def test_a_question_is_answered_while_a_long_text_is_read(self):
        done = []
        reading = threading.Thread(target=lambda: done.append(self.lh.read(text=LONG[:20000])))
        reading.start()
        reply = self.doc.ask(QUESTION, max_tokens=24)
        early = not done
        reading.join()
        self.assertIn("48213", reply.text)
        self.assertTrue(early, "the question waited for the other text")

    def test_python_goes_on_while_the_engine_works(self):
        steps = []
        ended = threading.Event()

        def count():
            while not ended.is_set():
                steps.append(None)
                time.sleep(0.005)

        counter = threading.Thread(target=count)
        counter.start()
        begin = time.monotonic()
        self.lh.read(text=LONG[:20000]).close()
        seconds = time.monotonic() - begin
        ended.set()
        counter.join()
        self.assertGreater(len(steps), seconds / 0.005 / 20)

    def test_close_ends_a_reply_early(self):
        stream = self.doc.ask("Count without an end.", stream=True, max_tokens=100_000, loops=True)
        pieces = [next(stream) for _ in range(3)]
        stream.close()
        self.assertEqual(stream.reply.stop, "cancelled")
        self.assertTrue(stream.reply.text.startswith("".join(pieces)))
        with self.doc.ask("Count without an end.", stream=True, max_tokens=100_000, loops=True) as dropped:
            next(dropped)
        del dropped
        chunks = self.lh.create_chat_completion(messages=[{"role": "user", "content": "Count."}], stream=True,
                                                max_tokens=100_000, loops=True)
        next(chunks)
        chunks.close()

    def test_replies_that_nobody_reads_wait_without_blocking_others(self):
        streams = [self.doc.ask(f"Count on, {i}.", stream=True, max_tokens=2000, loops=True) for i in range(9)]
        self.assertIn("48213", self.doc.ask(QUESTION, max_tokens=24).text)
        for stream in streams:
            stream.close()

    def test_replies_of_one_call_do_not_wait_for_their_reader(self):
        class Second:
            """Gives the second reply up for lost if it needs a reader after the first one has ended."""

            def __init__(self, job):
                self.job = job
                self.skip_text = job.skip_text

            def next(self, progress):
                deadline = time.monotonic() + 60
                while not self.job.ended:
                    if time.monotonic() > deadline:
                        raise TimeoutError("the reply waits for its reader")
                    time.sleep(0.01)
                return self.job.next(progress)

            def close(self):
                self.job.close()

        # More pieces than a stream holds unread.
        options = {"regex": "[0-9]{4000}", "max_tokens": 400, "loops": True}
        first, second = (self.doc._ask("ask_all", text, False, options, 0) for text in ("Digits?", "More digits?"))
        finish_all([first, Second(second)])
        self.assertEqual([len(job.result()["tokens"]) for job in (first, second)], [400, 400])

    def test_an_exception_of_progress_ends_the_reading(self):
        def refuse(done, total, left):
            raise KeyError("enough")

        with self.assertRaises(KeyError):
            self.lh.read(text=LONG, progress=refuse)

    def test_memory_does_not_grow(self):
        def ask(times):
            for i in range(times):
                self.doc.ask(f"What is {i % 10}?", max_tokens=2)
            gc.collect()

        ask(100)
        before = resident_bytes()
        ask(300)
        self.assertLess(resident_bytes() - before, 8 << 20)

    def test_closed_texts_give_their_memory_back(self):
        self.lh.read(text=LONG[:20000]).close()
        gc.collect()
        self.doc.ask(QUESTION, max_tokens=1)  # the engine's thread has released it
        before = resident_bytes()
        for _ in range(4):
            self.lh.read(text=LONG[:20000]).close()
            self.doc.ask(QUESTION, max_tokens=1)
        self.assertLess(resident_bytes() - before, 16 << 20)


class Signals(unittest.TestCase):
    """Ctrl-C in another process, in each phase."""

    CODE = """
import os, signal, sys, threading, time
from support import *
lh = nano()
doc = lh.read(text=TEXT)
def interrupt():
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
begin = time.monotonic()
try:
    {action}
except KeyboardInterrupt:
    print("interrupted", flush=True)
seconds = time.monotonic() - begin
assert "48213" in doc.ask(QUESTION, max_tokens=24).text
print("usable", flush=True)
"""

    def check(self, action):
        done = child(self.CODE.format(action=action))
        self.assertEqual(done.stdout, "interrupted\nusable\n", done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_while_a_text_is_read(self):
        self.check("lh.read(text=TEXT * 100)")

    def test_while_a_reply_is_generated(self):
        self.check("doc.ask('Count.', max_tokens=10**6, loops=True)")

    def test_while_a_stream_is_read(self):
        self.check("[time.sleep(0) for piece in doc.ask('Count.', stream=True, max_tokens=10**6, loops=True)]")

    def test_while_several_replies_are_generated(self):
        self.check("doc.ask_all(['Count.', 'Go on.'], max_tokens=10**6, loops=True)")

    def test_while_choices_are_scored(self):
        self.check("lh._model.score(lh.tokenize(TEXT * 100), [[5], [6]])")


class Ends(unittest.TestCase):
    def test_the_interpreter_ends_in_the_middle_of_a_reply(self):
        done = child("from support import *\nlh = nano()\ns = lh.ask('Count.', stream=True, max_tokens=10**6, loops=True)\n"
                     "next(s)\nprint('bye')")
        self.assertEqual((done.returncode, done.stdout), (0, "bye\n"), done.stderr)

    def test_a_child_of_fork_is_refused_with_a_reason(self):
        code = """
from support import *
lh = nano()
doc = lh.read(text="The sky is blue.")
pid = os.fork()
if pid == 0:
    try:
        doc.ask("What?")
    except longhaul.UserError as error:
        assert "fork" in str(error)
        os._exit(0)
    os._exit(1)
assert os.waitpid(pid, 0)[1] == 0
doc.ask("What?", max_tokens=2)
print("both")
"""
        done = child(code)
        self.assertEqual(done.stdout, "both\n", done.stderr)

    def test_a_second_interpreter_is_refused(self):
        code = """
from support import *
nano()
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
other = interpreters.create()
try:
    interpreters.run_string(other, "import sys; sys.path[:] = %r; import longhaul" % sys.path)
except Exception as error:
    assert "main interpreter" in str(error), repr(error)
    print("refused")
assert nano().ask("What?", max_tokens=2).text is not None
print("alive")
"""
        done = child(code)
        self.assertEqual(done.stdout.strip().splitlines(), ["refused", "alive"], done.stderr)

    def test_python_sees_a_server(self):
        with longhaul.Server("nano", threads=1, quiet=True) as server:
            import json
            import urllib.request
            body = json.dumps({"messages": [{"role": "user", "content": TEXT + QUESTION}], "max_tokens": 24}).encode()
            request = urllib.request.Request(server.url + "/v1/chat/completions", body,
                                             {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=120) as reply:
                self.assertIn("48213", json.load(reply)["choices"][0]["message"]["content"])
            pid = server.pid
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, signal.SIG_DFL)
        with self.assertRaisesRegex(longhaul.UserError, "no-such-model"):
            longhaul.Server("no-such-model")

    def test_the_script_runs_the_program(self):
        done = subprocess.run([sys.executable, "-m", "longhaul", "--version"], capture_output=True, text=True, timeout=60)
        self.assertIn(longhaul.__version__, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
