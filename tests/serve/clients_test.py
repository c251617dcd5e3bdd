#!/usr/bin/env python3
"""The official clients of OpenAI and Anthropic at `longhaul serve`: python3 tests/serve/clients_test.py BINARY

The packages anthropic and openai have to be installed. nano says nothing sensible: the tests look at the forms of
replies, and calls are demanded, so that their form does not depend on the model."""

import asyncio
import json
import sys
import unittest

import anthropic
import openai

from server_process import ServerProcess

BINARY = sys.argv.pop(1)
SCHEMA = {"type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}}, "required": ["city"]}
MESSAGE_TOOLS = [{"name": "weather", "description": "Tells the weather.", "input_schema": SCHEMA}]
CHAT_TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]
QUESTION = [{"role": "user", "content": "The pass key is 48213. What is the pass key?"}]


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess(BINARY, "--ctx", "4096", "-t", "1")
        url = f"http://127.0.0.1:{cls.server.port}"
        cls.openai = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
        cls.async_openai = openai.AsyncOpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
        cls.anthropic = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
        cls.async_anthropic = anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()


class Messages(Clients):
    def ask(self, client=None, **more):
        body = {"model": "nano", "max_tokens": 16, "messages": QUESTION, **more}
        return (client or self.anthropic).messages.create(**body)

    def test_whole_and_streamed_replies_are_equal(self):
        whole = self.ask(system="Be brief.")
        self.assertEqual(whole.type, "message")
        self.assertEqual(whole.content[0].type, "text")
        with self.anthropic.messages.stream(
                model="nano", max_tokens=16, messages=QUESTION, system="Be brief.") as stream:
            text = "".join(stream.text_stream)
            final = stream.get_final_message()
        self.assertEqual(text, whole.content[0].text)
        self.assertEqual(final.content[0].text, text)
        self.assertEqual(final.stop_reason, whole.stop_reason)
        total = final.usage.input_tokens + final.usage.cache_read_input_tokens
        self.assertEqual(total, whole.usage.input_tokens + whole.usage.cache_read_input_tokens)
        self.assertEqual(final.usage.output_tokens, whole.usage.output_tokens)

    def test_async_replies_are_equal(self):
        async def both():
            whole = await self.ask(self.async_anthropic)
            async with self.async_anthropic.messages.stream(
                    model="nano", max_tokens=16, messages=QUESTION) as stream:
                return whole, await stream.get_final_message()

        whole, streamed = asyncio.run(both())
        self.assertEqual(whole.content[0].text, streamed.content[0].text)

    def test_tools_make_a_round_trip(self):
        tools = {"tools": MESSAGE_TOOLS, "tool_choice": {"type": "any"}, "max_tokens": 100}
        first = self.ask(**tools)
        self.assertEqual(first.stop_reason, "tool_use")
        call = first.content[-1]
        self.assertEqual(call.name, "weather")
        self.assertIn(call.input["city"], ("Oslo", "Rome"))
        with self.anthropic.messages.stream(model="nano", messages=QUESTION, **tools) as stream:
            streamed = stream.get_final_message()
        self.assertEqual(streamed.content[-1].input, call.input)
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "It rains."}
        messages = [*QUESTION, {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
        second = self.ask(messages=messages, tools=MESSAGE_TOOLS)
        self.assertIn(second.stop_reason, ("end_turn", "max_tokens", "tool_use"))

    def test_count_tokens_is_the_usage(self):
        counted = self.anthropic.messages.count_tokens(model="nano", messages=QUESTION, tools=MESSAGE_TOOLS)
        used = self.ask(tools=MESSAGE_TOOLS).usage
        self.assertEqual(counted.input_tokens, used.input_tokens + used.cache_read_input_tokens)

    def test_errors_have_their_classes(self):
        with self.assertRaises(anthropic.NotFoundError):
            self.ask(model="unknown")
        with self.assertRaises(anthropic.BadRequestError) as caught:
            self.ask(messages=[{"role": "user", "content": [
                {"type": "image", "source": {"type": "url", "url": "http://x"}}]}])
        self.assertIn("messages[0].content[0]: is an image", caught.exception.message)
        with self.assertRaises(anthropic.BadRequestError) as caught:
            self.ask(messages=[{"role": "user", "content": "Too long. " * 4000}])
        self.assertIn("prompt is too long", caught.exception.message)

    def test_models_are_listed(self):
        self.assertEqual([model.id for model in self.anthropic.models.list()], ["nano"])


class Chat(Clients):
    def ask(self, client=None, **more):
        body = {"model": "nano", "max_tokens": 16, "messages": QUESTION, **more}
        return (client or self.openai).chat.completions.create(**body)

    def test_streamed_calls_are_assembled(self):
        tools = {"tools": CHAT_TOOLS, "tool_choice": "required", "max_tokens": 100}
        whole = self.ask(**tools).choices[0]
        self.assertEqual(whole.finish_reason, "tool_calls")
        call = whole.message.tool_calls[0]
        with self.openai.chat.completions.stream(model="nano", messages=QUESTION, **tools) as stream:
            final = stream.get_final_completion().choices[0]
        self.assertEqual(final.finish_reason, "tool_calls")
        self.assertEqual(final.message.tool_calls[0].function.name, call.function.name)
        self.assertEqual(final.message.tool_calls[0].function.arguments, call.function.arguments)
        self.assertIn(json.loads(call.function.arguments)["city"], ("Oslo", "Rome"))
        messages = [*QUESTION, whole.message, {"role": "tool", "tool_call_id": call.id, "content": "It rains."}]
        self.assertTrue(self.ask(messages=messages, tools=CHAT_TOOLS).choices)

    def test_async_streams_are_equal(self):
        async def both():
            whole = await self.ask(self.async_openai)
            text = ""
            async for chunk in await self.ask(self.async_openai, stream=True):
                text += chunk.choices[0].delta.content or ""
            return whole.choices[0].message.content, text

        whole, streamed = asyncio.run(both())
        self.assertEqual(whole, streamed)

    def test_the_words_and_the_usage_are_those_of_messages(self):
        chat = self.ask()
        message = self.anthropic.messages.create(model="nano", max_tokens=16, messages=QUESTION)
        self.assertEqual(chat.choices[0].message.content, message.content[0].text)
        used = message.usage
        self.assertEqual(chat.usage.prompt_tokens, used.input_tokens + used.cache_read_input_tokens)
        self.assertEqual(chat.usage.completion_tokens, used.output_tokens)

    def test_errors_have_their_classes(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.ask(tools=CHAT_TOOLS, tool_choice={"type": "function", "function": {"name": "rain"}})
        self.assertIn("no tool is named 'rain'", str(caught.exception))
        with self.assertRaises(openai.NotFoundError):
            self.ask(model="unknown")


if __name__ == "__main__":
    unittest.main()
