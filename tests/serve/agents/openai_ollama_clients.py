#!/usr/bin/env python3
"""OpenAI's and Ollama's own clients against `longhaul serve -m nano`. Not part of ./check, because it needs packages:
pip install openai ollama pydantic; python3 tests/serve/agents/openai_ollama_clients.py BINARY"""

import asyncio
import json
import os
import sys
import unittest

import ollama
import openai
import pydantic

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from server_process import ServerProcess  # noqa: E402

BINARY = sys.argv.pop(1)
TEXT = "The pass key is 48213. Remember it. " + "The grass is green and the sky is blue. " * 20
QUESTION = TEXT + "What is the pass key?"
ANSWER = "48213"
WEATHER = {"type": "object", "properties": {"city": {"type": "string", "enum": ["Oslo", "Rome"]}}, "required": ["city"],
           "additionalProperties": False}


class Key(pydantic.BaseModel):
    key: int


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess(BINARY, "--ctx", "8192", "-t", "1")
        cls.url = f"http://127.0.0.1:{cls.server.port}"

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()


class Responses(Clients):
    def setUp(self):
        self.client = openai.OpenAI(base_url=self.url + "/v1", api_key="none", max_retries=0)

    def test_whole_and_streamed_replies(self):
        whole = self.client.responses.create(model="nano", input=QUESTION, max_output_tokens=32)
        self.assertIn(ANSWER, whole.output_text)
        self.assertEqual(whole.status, "completed")
        kinds, text = [], ""
        for event in self.client.responses.create(model="nano", input=QUESTION, max_output_tokens=32, stream=True):
            kinds.append(event.type)
            if event.type == "response.output_text.delta":
                text += event.delta
        self.assertEqual(text, whole.output_text)
        self.assertEqual((kinds[0], kinds[-1]), ("response.created", "response.completed"))
        chat = self.client.chat.completions.create(model="nano", messages=[{"role": "user", "content": QUESTION}])
        self.assertEqual(chat.choices[0].message.content, whole.output_text)
        self.assertEqual(chat.usage.prompt_tokens, whole.usage.input_tokens)
        self.assertEqual(chat.usage.completion_tokens, whole.usage.output_tokens)

    def test_the_stream_helper_assembles_the_response(self):
        with self.client.responses.stream(model="nano", input=QUESTION, max_output_tokens=32) as stream:
            for _ in stream:
                pass
            response = stream.get_final_response()
        self.assertIn(ANSWER, response.output_text)

    def test_asynchronous_client(self):
        async def ask():
            client = openai.AsyncOpenAI(base_url=self.url + "/v1", api_key="none", max_retries=0)
            whole, stream = await asyncio.gather(
                client.responses.create(model="nano", input=QUESTION, max_output_tokens=32),
                client.responses.create(model="nano", input=QUESTION, max_output_tokens=32, stream=True))
            text = ""
            async for event in stream:
                text += event.delta if event.type == "response.output_text.delta" else ""
            return whole.output_text, text

        whole, streamed = asyncio.run(ask())
        self.assertIn(ANSWER, whole)
        self.assertEqual(whole, streamed)

    def test_conversations_continue_by_id(self):
        first = self.client.responses.create(model="nano", input=TEXT + "Hello.", max_output_tokens=8)
        second = self.client.responses.create(model="nano", input="What is the pass key?", max_output_tokens=32,
                                              previous_response_id=first.id)
        self.assertGreater(second.usage.input_tokens_details.cached_tokens, first.usage.input_tokens - 32)
        self.assertEqual(self.client.responses.retrieve(first.id).output_text, first.output_text)
        items = self.client.responses.input_items.list(first.id)
        self.assertEqual(items.data[0].content[0].text, TEXT + "Hello.")
        self.client.responses.delete(first.id)
        with self.assertRaises(openai.NotFoundError):
            self.client.responses.retrieve(first.id)
        with self.assertRaises(openai.NotFoundError) as gone:
            self.client.responses.create(model="nano", input="Hi", previous_response_id=first.id)
        self.assertEqual(gone.exception.param, "previous_response_id")

    def test_tools_round_trip(self):
        tools = [{"type": "function", "name": "weather", "parameters": WEATHER, "strict": True},
                 {"type": "custom", "name": "note", "description": "Writes a note."}]
        asked = [{"role": "user", "content": "What is the weather in Oslo?"}]
        for streamed in (False, True):
            if streamed:
                with self.client.responses.stream(model="nano", input=asked, tools=tools, tool_choice="required",
                                                  max_output_tokens=200) as stream:
                    response = stream.get_final_response()
            else:
                response = self.client.responses.create(model="nano", input=asked, tools=tools,
                                                        tool_choice={"type": "function", "name": "weather"},
                                                        max_output_tokens=200)
            call = response.output[0]
            if call.type == "function_call":
                self.assertIn(json.loads(call.arguments)["city"], ("Oslo", "Rome"))
                result = {"type": "function_call_output", "call_id": call.call_id, "output": "Rain."}
            else:
                self.assertEqual(call.type, "custom_tool_call")
                result = {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "Written."}
            final = self.client.responses.create(model="nano", input=asked + [call.to_dict(), result], tools=tools,
                                                 max_output_tokens=16)
            self.assertEqual(final.output[0].type, "message")

    def test_parsed_output(self):
        parsed = self.client.responses.parse(model="nano", input=QUESTION, text_format=Key, max_output_tokens=64)
        self.assertIsInstance(parsed.output_parsed, Key)

    def test_counting_and_errors(self):
        count = self.client.responses.input_tokens.count(model="nano", input=QUESTION)
        self.assertGreater(count.input_tokens, 100)
        with self.assertRaises(openai.BadRequestError) as wrong:
            self.client.responses.create(model="nano", input=[{"role": "wizard", "content": "x"}])
        self.assertEqual(wrong.exception.param, "input[0].role")
        with self.assertRaises(openai.BadRequestError) as long:
            self.client.responses.create(model="nano", input=TEXT * 60)
        self.assertEqual(long.exception.code, "context_length_exceeded")
        cut = self.client.responses.create(model="nano", input=QUESTION, max_output_tokens=2)
        self.assertEqual((cut.status, cut.incomplete_details.reason), ("incomplete", "max_output_tokens"))


class Ollama(Clients):
    def setUp(self):
        self.client = ollama.Client(host=self.url)
        self.messages = [{"role": "user", "content": QUESTION}]

    def test_whole_and_streamed_chats(self):
        whole = self.client.chat(model="nano", messages=self.messages, options={"num_predict": 32, "num_ctx": 512})
        self.assertIn(ANSWER, whole.message.content)
        self.assertEqual((whole.done, whole.done_reason), (True, "stop"))
        self.assertGreater(whole.total_duration, whole.eval_duration)
        text = ""
        for part in self.client.chat(model="nano:latest", messages=self.messages, stream=True):
            text += part.message.content
        self.assertEqual(text, whole.message.content)
        self.assertEqual(part.eval_count, whole.eval_count)
        client = openai.OpenAI(base_url=self.url + "/v1", api_key="none")
        chat = client.chat.completions.create(model="nano", messages=self.messages)
        self.assertEqual(chat.choices[0].message.content, whole.message.content)
        self.assertEqual((chat.usage.prompt_tokens, chat.usage.completion_tokens),
                         (whole.prompt_eval_count, whole.eval_count))

    def test_generate(self):
        whole = self.client.generate(model="nano", prompt=QUESTION)
        self.assertIn(ANSWER, whole.response)
        text = "".join(part.response for part in self.client.generate(model="nano", prompt=QUESTION, stream=True))
        self.assertEqual(text, whole.response)
        self.assertEqual(self.client.generate(model="nano").done_reason, "load")
        self.assertTrue(self.client.generate(model="nano", prompt="Once", raw=True, options={"num_predict": 4}).response)

    def test_asynchronous_client(self):
        async def ask():
            client = ollama.AsyncClient(host=self.url)
            whole = await client.chat(model="nano", messages=self.messages)
            text = ""
            async for part in await client.chat(model="nano", messages=self.messages, stream=True):
                text += part.message.content
            return whole.message.content, text

        whole, streamed = asyncio.run(ask())
        self.assertIn(ANSWER, whole)
        self.assertEqual(whole, streamed)

    def test_formats(self):
        schema = Key.model_json_schema()
        reply = self.client.chat(model="nano", messages=self.messages, format=schema, options={"num_predict": 64})
        Key.model_validate_json(reply.message.content)
        reply = self.client.chat(model="nano", messages=self.messages, format="json", options={"num_predict": 200})
        if reply.done_reason == "stop":
            self.assertIsInstance(json.loads(reply.message.content), dict)

    def test_tools_round_trip(self):
        def weather(city: str) -> str:
            """Tells the weather.

            Args:
              city: The city.
            """
            return "rain in " + city

        call = {"role": "assistant", "content": "",
                "tool_calls": [{"function": {"name": "weather", "arguments": {"city": "Oslo"}}}]}
        result = {"role": "tool", "tool_name": "weather", "content": weather("Oslo")}
        reply = self.client.chat(model="nano", messages=self.messages + [call, result], tools=[weather],
                                 options={"num_predict": 16})
        self.assertEqual(reply.message.role, "assistant")
        with self.assertRaises(ollama.ResponseError) as wrong:
            self.client.chat(model="nano", messages=self.messages + [result], tools=[weather])
        self.assertEqual(wrong.exception.status_code, 400)

    def test_lists_and_errors(self):
        models = self.client.list().models
        self.assertEqual(models[0].model, "nano:latest")
        self.assertGreater(models[0].size, 1000)
        self.assertEqual(self.client.ps().models[0].name, "nano:latest")
        shown = self.client.show("nano")
        self.assertIn("completion", shown.capabilities)
        self.assertTrue(shown.modelinfo["general.architecture"])
        with self.assertRaises(ollama.ResponseError) as unknown:
            self.client.chat(model="other", messages=self.messages)
        self.assertEqual(unknown.exception.status_code, 404)
        for change in (lambda: self.client.pull("x"), lambda: self.client.delete("nano"),
                       lambda: self.client.copy("nano", "x"), lambda: self.client.embed("nano", "x"),
                       lambda: self.client.embeddings("nano", "x"), lambda: self.client.create("x", from_="nano"),
                       lambda: self.client.push("x")):
            with self.assertRaises(ollama.ResponseError) as missing:
                change()
            self.assertEqual(missing.exception.status_code, 501)
        with self.assertRaises(ollama.ResponseError) as field:
            for _ in self.client.chat(model="nano", messages=self.messages, options={"top_p": 2}, stream=True):
                pass
        self.assertTrue(str(field.exception).startswith("options.top_p: "))


if __name__ == "__main__":
    unittest.main(warnings="ignore")
