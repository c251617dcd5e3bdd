#!/usr/bin/env python3
"""Renders chat templates by jinja2, as Hugging Face transformers does, and by Longhaul, and prints the differences.

  compare_templates.py PROGRAM FOLDER...    every *.jinja below the folders, with CONVERSATIONS
  compare_templates.py PROGRAM --random N   N generated templates

PROGRAM is build/release/tests/longhaul_render_template. The tool also prints text of a message that was not marked as
given. Needs: jinja2.
"""
import datetime
import json
import pathlib
import random
import subprocess
import sys

from chat_conversations import CONVERSATIONS, environment, Refused
from random_templates import random_template


class Program:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def render(self, template, variables):
        print(json.dumps({"template": template, "variables": variables}), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def by_jinja2(env, template, variables):
    try:
        return {"text": env.from_string(template).render(**variables)}
    except Exception as error:  # any Python exception is an error of the template
        return {"error": f"{type(error).__name__}: {error}"}


def difference(ours, theirs):
    if "error" in ours or "error" in theirs:
        return None if ("error" in ours) == ("error" in theirs) else (ours, theirs)
    return None if ours["text"] == theirs["text"] else (ours, theirs)


def show(name, pair):
    print(f"== {name}")
    for who, result in zip(("longhaul", "jinja2"), pair):
        print(f"  {who:8} {json.dumps(result, ensure_ascii=False)[:1200]}")


def files(program, folders):
    env = environment()
    count = different = 0
    for path in sorted(path for folder in folders for path in pathlib.Path(folder).rglob("*.jinja")):
        template = path.read_text()
        for name, variables in CONVERSATIONS.items():
            count += 1
            pair = difference(program.render(template, variables), by_jinja2(env, template, variables))
            if pair:
                different += 1
                show(f"{path} {name}", pair)
    return count, different


def generated(program, number):
    env = environment()
    different = rendered = 0
    for seed in range(number):
        template, variables = random_template(random.Random(seed))
        ours, theirs = program.render(template, variables), by_jinja2(env, template, variables)
        rendered += "text" in theirs
        pair = difference(ours, theirs)
        if pair:
            different += 1
            show(f"seed {seed}: {template!r}", pair)
    print(f"{rendered} of {number} render without an error in jinja2")
    return number, different


def main():
    program = Program(sys.argv[1])
    if sys.argv[2] == "--random":
        count, different = generated(program, int(sys.argv[3]))
    else:
        count, different = files(program, sys.argv[2:])
    print(f"{count} compared, {different} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
