#!/usr/bin/env python3
"""Twenty tasks for an agent of pydantic-ai with two tools: python3 agent_tasks.py URL MODEL

URL is that of `longhaul serve` (or llama-server) with /v1. A task is complete if the agent has called a tool with the
right arguments and its last message has the result. Needs pydantic-ai (PyPI)."""

import argparse
import asyncio

from pydantic_ai import Agent
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits

STOCK = {"apples": 41, "pears": 17, "plums": 63, "cherries": 158, "lemons": 29, "melons": 12, "grapes": 305, "figs": 77,
         "dates": 94, "limes": 36}
SUMS = [(12, 30), (7, 81), (100, 250), (19, 64), (33, 48), (210, 95), (15, 72), (640, 21), (58, 27), (99, 13)]


def tasks():
    for name, count in STOCK.items():
        yield f"How many {name} are in the store?", ("stock_of", {"item": name}), str(count)
    for first, second in SUMS:
        yield f"What is {first} plus {second}?", ("add", {"first": first, "second": second}), str(first + second)


def agent_for(options, calls):
    model = OpenAIChatModel(options.model, provider=OpenAIProvider(base_url=options.url, api_key="none"))
    agent = Agent(model, system_prompt="Use the tools. Then answer in one sentence with the number.", retries=2)

    @agent.tool_plain
    def stock_of(item: str) -> int:
        """Returns how many pieces of an item are in the store."""
        calls.append(("stock_of", {"item": item}))
        return STOCK.get(item.lower(), 0)

    @agent.tool_plain
    def add(first: int, second: int) -> int:
        """Adds two whole numbers."""
        calls.append(("add", {"first": first, "second": second}))
        return first + second

    return agent


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("model")
    options = parser.parse_args()
    called = right = complete = ended = count = 0
    for question, call, answer in tasks():
        calls = []
        agent = agent_for(options, calls)
        settings = {"temperature": 0, "max_tokens": 96}
        count += 1
        try:
            limits = UsageLimits(request_limit=6)
            output = (await agent.run(question, model_settings=settings, usage_limits=limits)).output
            ended += 1
        except AgentRunError as error:
            output = f"{type(error).__name__}: {str(error)[:90]}"
        called += bool(calls)
        right += call in calls
        complete += call in calls and answer in output
        print(f"{question} {calls} -> {output!r}", flush=True)
    print(f"{count} tasks: {ended} runs ended, {called} with a call, {right} with the right one, {complete} complete")


asyncio.run(main())
