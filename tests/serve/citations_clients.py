#!/usr/bin/env python3
"""Documents and citations with the official clients: python3 tests/serve/citations_clients.py BINARY

The packages anthropic, openai and ollama have to be installed. The clients assemble the events of streams; the result
has to equal the whole reply."""

import sys
import unittest

import anthropic
import ollama
import openai

from server_process import ServerProcess

BINARY = sys.argv.pop(1)
TEXT = "The grass is green and the sky is blue. " * 12 + "The pass key is 48213. Remember it. " + "The sea is calm. " * 12
ASKED = "What is the pass key?"


class Citations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess(BINARY, "--ctx", "4096", "-t", "1")
        url = f"http://127.0.0.1:{cls.server.port}"
        cls.anthropic = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
        cls.openai = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
        cls.ollama = ollama.Client(host=url)
        cls.file = cls.openai.files.create(file=("key.txt", TEXT.encode()), purpose="user_data")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def check_passage(self, citation, title):
        self.assertEqual(citation.type, "char_location")
        self.assertEqual(citation.cited_text, TEXT[citation.start_char_index:citation.end_char_index])
        self.assertIn("48213", citation.cited_text)
        self.assertEqual((citation.document_index, citation.document_title), (0, title))

    def test_messages_cite_a_text(self):
        source = {"type": "text", "media_type": "text/plain", "data": TEXT}
        self.cites(source, "The letter", {"title": "The letter"})

    def test_messages_cite_a_file(self):
        self.cites({"type": "file", "file_id": self.file.id}, "key.txt", {})

    def cites(self, source, title, more):
        block = {"type": "document", "source": source, "citations": {"enabled": True}, **more}
        body = {"model": "nano", "max_tokens": 24,
                "messages": [{"role": "user", "content": [block, {"type": "text", "text": ASKED}]}]}
        whole = self.anthropic.messages.create(**body)
        self.check_passage(whole.content[0].citations[0], title)
        with self.anthropic.messages.stream(**body) as stream:
            kinds = [event.type for event in stream]
            final = stream.get_final_message()
        self.assertIn("citation", kinds)
        self.assertEqual([(block.text, block.citations) for block in final.content],
                         [(block.text, block.citations or []) for block in whole.content])
        counted = self.anthropic.messages.count_tokens(model="nano", messages=body["messages"])
        used = whole.usage
        self.assertEqual(counted.input_tokens,
                         used.input_tokens + used.cache_read_input_tokens + used.cache_creation_input_tokens)

    def test_without_enabled_nothing_is_cited(self):
        block = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": TEXT}}
        reply = self.anthropic.messages.create(
            model="nano", max_tokens=24,
            messages=[{"role": "user", "content": [block, {"type": "text", "text": ASKED}]}])
        self.assertIsNone(reply.content[0].citations)

    def test_responses_have_file_citations(self):
        items = [{"role": "user", "content": [{"type": "input_file", "file_id": self.file.id},
                                              {"type": "input_text", "text": ASKED}]}]
        whole = self.openai.responses.create(model="nano", max_output_tokens=24, input=items)
        annotation = whole.output[0].content[0].annotations[0]
        self.assertEqual((annotation.type, annotation.file_id, annotation.filename),
                         ("file_citation", self.file.id, "key.txt"))
        self.assertIn("48213", annotation.text)
        self.assertLessEqual(annotation.index, len(whole.output_text))
        with self.openai.responses.stream(model="nano", max_output_tokens=24, input=items) as stream:
            added = [event for event in stream if event.type == "response.output_text.annotation.added"]
            final = stream.get_final_response()
        self.assertEqual(final.output_text, whole.output_text)
        annotations = final.output[0].content[0].annotations
        self.assertEqual([one.to_dict() for one in annotations],
                         [one.to_dict() for one in whole.output[0].content[0].annotations])
        self.assertEqual(len(added), len(annotations))

    def test_chat_reads_files(self):
        reply = self.openai.chat.completions.create(
            model="nano", max_tokens=24, extra_body={"sources": True},
            messages=[{"role": "user", "content": [{"type": "file", "file": {"file_id": self.file.id}},
                                                   {"type": "text", "text": ASKED}]}])
        self.assertIn("48213", reply.choices[0].message.content)
        self.assertIn("48213", reply.longhaul["sources"][0]["text"])

    def test_documents_are_shared_by_all_apis(self):
        document = self.server.post("/v1/documents", {"text": TEXT, "name": "key.txt"})[1]["id"]
        question = [{"role": "user", "content": ASKED}]
        more = {"documents": [document], "sources": True}
        message = self.anthropic.messages.create(model="nano", max_tokens=24, messages=question, extra_body=more)
        self.check_passage(message.content[0].citations[0], "key.txt")
        response = self.openai.responses.create(model="nano", max_output_tokens=24, input=ASKED, extra_body=more)
        self.assertEqual(response.output[0].content[0].annotations[0].file_id, document)
        chat = self.openai.chat.completions.create(model="nano", max_tokens=24, messages=question, extra_body=more)
        body = {"model": "nano", "messages": question, "stream": False, "options": {"num_predict": 24}, **more}
        status, told = self.server.post("/api/chat", body)
        self.assertEqual(status, 200, told)
        generated = self.server.post("/api/generate", {"model": "nano", "prompt": ASKED, "stream": False,
                                                       "options": {"num_predict": 24}, **more})[1]
        for reply in (message.longhaul, response.longhaul, chat.longhaul, told["longhaul"], generated["longhaul"]):
            self.assertEqual(reply["documents"], [document])
            self.assertIn("48213", reply["sources"][0]["text"])
            self.assertGreater(reply["cache"]["reused"], 200)
        words = {"".join(block.text for block in message.content), response.output_text,
                 chat.choices[0].message.content, told["message"]["content"], generated["response"]}
        self.assertEqual(len(words), 1, words)
        listed = self.ollama.chat(model="nano", messages=[{"role": "user", "content": TEXT + ASKED}],
                                  options={"num_predict": 24})
        self.assertIn("48213", listed.message.content)


if __name__ == "__main__":
    unittest.main()
