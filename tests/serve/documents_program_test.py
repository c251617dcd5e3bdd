#!/usr/bin/env python3
"""Documents of `longhaul serve` with nano: python3 tests/serve/documents_program_test.py BINARY"""

import json
import os
import stat
import sys
import tempfile
import time
import unittest

from server_process import ServerProcess

BINARY = sys.argv.pop(1)
TEXT = "The grass is green and the sky is blue. " * 60 + "The pass key is 48213. Remember it. " + \
    "The river is cold and the road is long. " * 60


def form(name, data):
    head = f'--B\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    return head + data + b"\r\n--B--\r\n"


class Documents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tools = tempfile.TemporaryDirectory()
        # Stands in for poppler's program; it tries to leave a file behind.
        cls.left_behind = os.path.join(cls.tools.name, "left")
        script = os.path.join(cls.tools.name, "pdftotext")
        with open(script, "w") as file:
            file.write(f"#!/bin/sh\nPATH=/usr/bin:/bin\necho x >{cls.left_behind}\ncat >/dev/null\n"
                       "printf 'The pass key is 31337.\\n\\fThe second page.\\n'\n")
        os.chmod(script, os.stat(script).st_mode | stat.S_IXUSR)
        os.environ["PATH"] = cls.tools.name + ":" + os.environ["PATH"]
        cls.server = ServerProcess(BINARY, "--ctx", "8192", "-t", "1")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.tools.cleanup()

    def ready(self, document):
        for _ in range(3000):
            status, seen = self.server.ask("GET", "/v1/documents/" + document["id"])
            self.assertEqual(status, 200, seen)
            if seen["status"] in ("ready", "failed"):
                return seen
            time.sleep(0.1)
        self.fail("the document was not read in time")

    def add(self, **fields):
        status, document = self.server.post("/v1/documents", fields)
        self.assertEqual(status, 202, document)
        return self.ready(document)

    def ask(self, document, question, **more):
        body = {"documents": [document["id"]], "messages": [{"role": "user", "content": question}],
                "max_tokens": 24, **more}
        status, reply = self.server.post("/v1/chat/completions", body)
        self.assertEqual(status, 200, reply)
        return reply

    def test_sentences_of_other_apis_cite_the_document(self):
        block = {"type": "document", "source": {"type": "text", "data": TEXT}, "citations": {"enabled": True}}
        body = {"max_tokens": 24, "messages": [
            {"role": "user", "content": [block, {"type": "text", "text": "What is the pass key?"}]}]}
        status, message = self.server.post("/v1/messages", body)
        self.assertEqual(status, 200, message)
        citation = message["content"][0]["citations"][0]
        self.assertEqual((citation["type"], citation["document_index"]), ("char_location", 0))
        self.assertEqual(citation["cited_text"], TEXT[citation["start_char_index"]:citation["end_char_index"]])
        self.assertIn("48213", citation["cited_text"])
        events = [json.loads(data) for data in self.server.stream("/v1/messages", {**body, "stream": True})]
        deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
        self.assertEqual([delta["citation"] for delta in deltas if delta["type"] == "citations_delta"],
                         [one for block in message["content"] for one in block["citations"] or []])
        self.assertEqual("".join(delta.get("text", "") for delta in deltas),
                         "".join(block["text"] for block in message["content"]))
        document = self.add(text=TEXT, name="key.txt")
        status, response = self.server.post("/v1/responses", {"input": "What is the pass key?", "max_output_tokens": 24,
                                                              "documents": [document["id"]]})
        self.assertEqual(status, 200, response)
        annotation = response["output"][0]["content"][0]["annotations"][0]
        self.assertEqual((annotation["type"], annotation["file_id"]), ("file_citation", document["id"]))

    def test_questions_resume_from_the_document(self):
        document = self.add(text=TEXT, name="key.txt")
        self.assertEqual(document["status"], "ready", document)
        for _ in range(2):
            reply = self.ask(document, "What is the pass key?", sources=True)
            self.assertIn("48213", reply["choices"][0]["message"]["content"])
            cached = reply["usage"]["prompt_tokens_details"]["cached_tokens"]
            self.assertGreaterEqual(cached, document["tokens"] - 32)
        first = reply["longhaul"]["sources"][0]
        self.assertEqual(first["document"], document["id"])
        self.assertIn("48213", first["text"])
        self.assertEqual(TEXT[first["from"]:first["to"]], first["text"])
        self.assertTrue(reply["longhaul"]["sentences"])
        plain = {"messages": [{"role": "user", "content": TEXT.rstrip("\n") + "\n\nWhat is the pass key?"}],
                 "max_tokens": 24, "cache_prompt": False}
        _, same = self.server.post("/v1/chat/completions", plain)
        self.assertEqual(same["choices"][0]["message"]["content"], reply["choices"][0]["message"]["content"])

    def test_methods_that_move_keys_have_sources_of_what_they_kept(self):
        document = self.add(text=TEXT, attention="streamingllm:recent=256")
        reply = self.ask(document, "What is the pass key?", sources=True)
        self.assertTrue(reply["longhaul"]["sources"])
        for passage in reply["longhaul"]["sources"]:  # the middle of the text is gone
            self.assertTrue(passage["from"] < 2000 or passage["to"] > len(TEXT) - 2000, passage)
        _, kept = self.server.ask("GET", f"/v1/documents/{document['id']}/map")
        middle = kept["kept"][0][0][kept["bins"] // 4]
        self.assertLess(middle, 0.5)
        self.assertEqual(kept["kept"][0][0][0], 1)

    def test_pdfs_are_converted_without_writing(self):
        status, document = self.server.ask("POST", "/v1/documents", form("report.pdf", b"%PDF-1.7\nx"),
                                           {"Content-Type": "multipart/form-data; boundary=B"})
        self.assertEqual(status, 202, document)
        self.assertEqual(self.ready(document)["pages"], 2)
        self.assertFalse(os.path.exists(self.left_behind))
        reply = self.ask(document, "What is the pass key?", sources=True)
        self.assertIn("31337", reply["choices"][0]["message"]["content"])
        self.assertEqual(reply["longhaul"]["sources"][0]["page"], 1)

    def test_deleted_documents_are_gone(self):
        document = self.add(text="A short text about nothing in particular, but long enough.")
        path = "/v1/documents/" + document["id"]
        self.assertEqual(self.server.ask("DELETE", path)[0], 200)
        self.assertEqual(self.server.ask("GET", path)[0], 404)


if __name__ == "__main__":
    unittest.main()
