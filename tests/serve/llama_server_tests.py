#!/usr/bin/env python3
"""Runs llama-server's own tests against `longhaul serve`. They are read from llama.cpp's sources and not copied.

  llama_server_tests.py SOURCES PROGRAM [FILE ...] [-- PYTEST_ARGUMENTS]

SOURCES is the folder vendor/llama.cpp of llama-cpp-python's archive. FILE is such as test_basic.py; without one, all
files that llama_server_cases.py lists run. Needs the Python packages of tools/server/tests/requirements.txt.

The tests start `llama-server` with models from the network. Here they start this file, which translates the flags and
becomes `longhaul serve -m nano`. Three things are replaced in the tests: words that only their models say match
everything, numbers of prompt tokens equal everything, and cases of other models and features are left out by name, each
with its reason (llama_server_cases.py)."""

import hashlib
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve()

# Flags of llama-server that need no counterpart, by the number of their values.
IGNORED = {"--offline": 0, "--cont-batching": 0, "--metrics": 0, "--slots": 0, "--no-slots": 0, "--jinja": 0,
           "--no-jinja": 0, "--verbose": 0, "--swa-full": 0, "--no-cache-idle-slots": 0, "--backend_sampling": 0,
           "--hf-repo": 1, "--hf-file": 1, "--model": 1, "--batch-size": 1, "--ubatch-size": 1, "--threads": 1,
           "--n-predict": 1, "--seed": 1, "--cache-ram": 1, "-fa": 1, "--reasoning-format": 1, "--pooling": 1,
           "--tags": 1, "--n-gpu-layers": 1, "--temp": 1, "--models-dir": 1, "--models-max": 1, "--media-path": 1}


def flags_of(arguments):
    """The flags of `longhaul serve` for those of llama-server."""
    given, flags = {}, []
    values = iter(arguments)
    for flag in values:
        if flag == "--kv-unified":
            given[flag] = True
        elif flag in IGNORED:
            for _ in range(IGNORED[flag]):
                next(values)
        elif flag == "--no-ui":
            flags.append("--no-web")
        elif flag in ("--host", "--port", "--ctx-size", "--parallel", "--alias", "--api-key", "--chat-template",
                      "--chat-template-file", "--reasoning", "--slot-save-path", "--cors-origins", "--lora"):
            given[flag] = next(values)
        else:
            sys.exit(f"llama_server_tests.py: {flag} has no counterpart")
    for host in given["--host"].split(","):
        flags += ["--listen", (f"[{host}]" if ":" in host else host) + ":" + given["--port"]]
    slots = int(given.get("--parallel", 0))
    if slots:
        flags += ["--parallel", str(slots)]
    if "--ctx-size" in given:  # llama-server divides it among the slots
        whole = int(given["--ctx-size"])
        flags += ["--ctx", str(whole if "--kv-unified" in given else whole // max(1, slots))]
    if "--alias" in given:
        flags += ["--alias", given["--alias"].split(",")[0]]
    template = given.get("--chat-template-file", given.get("--chat-template"))
    if template:
        flags += ["--chat-template", template]
    folder = pathlib.Path(os.environ["LONGHAUL_TEST_FOLDER"])
    if "--api-key" in given:
        keys = folder / f"keys{os.getpid()}"
        keys.write_text(f"test {hashlib.sha256(given['--api-key'].encode()).hexdigest()}\n")
        keys.chmod(0o600)
        flags += ["--api-key-file", str(keys)]
    if "--slot-save-path" in given:
        flags += ["--cache-dir", str(folder / f"cache{os.getpid()}")]
    return flags


def become_server(arguments):
    program, model = os.environ["LONGHAUL_TEST_PROGRAM"], os.environ["LONGHAUL_TEST_MODEL"]
    command = [program, "serve", "-m", model, "-t", "1", "--metrics", "llamacpp", *flags_of(arguments)]
    os.execv(program, command)


# The plugin of pytest.

# Words that llama-server's small model says.
WORDS = re.compile(r"going\|bed|Suddenly|princesses|little\|girl|But she couldn't|\^ blue|Aside\|she|Whillicter")


def pytest_configure(config):
    sys.path.insert(0, os.getcwd())
    import utils
    utils.ServerPreset.load_all = staticmethod(lambda: None)
    match = utils.match_regex
    utils.match_regex = lambda regex, text: bool(WORDS.search(regex)) or match(regex, text)
    name_no_model(utils.ServerProcess, "make_request")
    name_no_model(utils.ServerProcess, "make_stream_request")
    utils.ServerProcess.make_stream_request = null_first_content(utils.ServerProcess.make_stream_request)
    import openai._base_client
    build = openai._base_client.BaseClient._build_request

    def build_without_model(self, options, **more):
        if isinstance(options.json_data, dict):
            options.json_data.pop("model", None)
        return build(self, options, **more)
    openai._base_client.BaseClient._build_request = build_without_model


def name_no_model(kind, function):
    """Removes the model's name from requests: longhaul refuses names of other models."""
    original = getattr(kind, function)

    def without_model(self, method, path, data=None, *arguments, **more):
        if isinstance(data, dict):
            data = {name: value for name, value in data.items() if name != "model"}
        return original(self, method, path, data, *arguments, **more)
    setattr(kind, function, without_model)


def null_first_content(stream):
    """Streams begin with the content "", as OpenAI's; the tests expect null."""
    def events(self, *arguments, **more):
        for event in stream(self, *arguments, **more):
            for choice in event.get("choices", []) if isinstance(event, dict) else []:
                delta = choice.get("delta", {})
                if "role" in delta and delta.get("content") == "":
                    delta["content"] = None
            yield event
    return events


def pytest_collection_modifyitems(items):
    import pytest
    from unittest import mock
    from llama_server_cases import reason_of
    for item in items:
        if hasattr(item, "callspec") and "n_prompt" in item.callspec.params:
            item.callspec.params["n_prompt"] = mock.ANY
        kind, reason = reason_of(item.nodeid.partition("unit/")[2])
        if kind == "differs":
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
        elif kind == "none":
            item.add_marker(pytest.mark.skip(reason=reason))


def main():
    own, for_pytest = sys.argv[1:], []
    if "--" in own:
        at = own.index("--")
        own, for_pytest = own[:at], own[at + 1:]
    sources, program, *files = own
    from llama_server_cases import FILES
    tests = pathlib.Path(sources).resolve() / "tools/server/tests"
    with tempfile.TemporaryDirectory() as folder:
        server = pathlib.Path(folder) / "llama-server"
        server.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE} --server "$@"\n')
        server.chmod(0o755)
        environment = {**os.environ, "LLAMA_SERVER_BIN_PATH": str(server), "LONGHAUL_TEST_FOLDER": folder,
                       "LONGHAUL_TEST_PROGRAM": str(pathlib.Path(program).resolve()),
                       "LONGHAUL_TEST_MODEL": os.environ.get("LONGHAUL_TEST_MODEL",
                                                             str(HERE.parents[2] / "models/nano")),
                       "PYTHONPATH": f"{HERE.parent}:{tests}", "PORT": str(random.randint(20000, 50000)),
                       "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "pytest", "-p", "llama_server_tests", "-p", "no:cacheprovider", "-q", "-rfxs", "--show-capture=no",
                   "--tb=short", *for_pytest, *(f"unit/{name}" for name in files or FILES)]
        return subprocess.run(command, cwd=tests, env=environment).returncode


if __name__ == "__main__":
    if sys.argv[1:2] == ["--server"]:
        become_server(sys.argv[2:])
    sys.exit(main())
