#!/usr/bin/env python3
"""Asks questions about a text that is prefilled only once: ask.py PROGRAM [MODEL [TEXT QUESTIONS]].

A line of QUESTIONS has a question, a tab, and the words of a right answer.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def run(program, model, text, *flags):
    command = [program, "run", "-m", model, "-f", text, "--json", *flags]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return json.loads(done.stdout)


def read_questions(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line.strip()]


def depth_of(answer, text):
    """Where in the text the fact stands, in percent."""
    return 100 * text.find(answer) / max(len(text), 1)


def mib(size):
    return f"{size / 2**20:.1f} MiB"


def seconds(value):
    return f"{value:.1f} s" if value >= 1 else f"{1000 * value:.0f} ms"


def print_reading(text_path, facts):
    print(f"The text      {text_path.name}, {text_path.stat().st_size:,} bytes, "
          f"{facts['prompt_tokens']:,} tokens")
    print(f"Read once     in {seconds(facts['prefill_seconds'])}, "
          f"{facts['prefill_tokens_per_second']:,.0f} tokens/s")
    print(f"Kept          {mib(facts['kv_bytes'])} of keys and values "
          f"({facts['kv_type']}, {facts['attention']} attention)")
    print(f"Kernels       {facts['isa']}, {facts['products']} products, "
          f"{facts['threads']} thread{'' if facts['threads'] == 1 else 's'}\n", flush=True)


def print_answer(question, right, depth, facts):
    waited = facts["session_load_seconds"] + facts["first_token_seconds"]
    print(f"{'right' if right else 'WRONG'}  {question}")
    print(f"       {facts['text'].strip()}")
    print(f"       fact at {depth:.0f} % of the text; first token after "
          f"{seconds(waited)} ({facts['reused_tokens']:,} of "
          f"{facts['prompt_tokens']:,} tokens reused), then "
          f"{facts['decode_tokens_per_second']:.0f} tokens/s", flush=True)


def main():
    if not 2 <= len(sys.argv) <= 5 or len(sys.argv) == 4:
        sys.exit(__doc__)
    program = sys.argv[1]
    model = sys.argv[2] if len(sys.argv) > 2 else "nano"
    text_path = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else HERE / "age_of_innocence_33.txt")
    questions = read_questions(
        pathlib.Path(sys.argv[4] if len(sys.argv) > 4 else HERE / "questions.tsv"))
    text = text_path.read_text(encoding="utf-8")

    with tempfile.TemporaryDirectory() as folder:
        session = f"{folder}/session"
        reading = run(program, model, str(text_path), "-n", "0", "--save", session)
        print_reading(text_path, reading)
        peak, right_answers = reading["peak_rss_bytes"], 0
        for question, answer in questions:
            facts = run(program, model, str(text_path), "-p", question, "--load", session)
            right = answer.lower() in facts["text"].lower()
            right_answers += right
            peak = max(peak, facts["peak_rss_bytes"])
            print_answer(question, right, depth_of(answer, text), facts)
    print(f"\n{right_answers} of {len(questions)} right; peak memory {mib(peak)}, "
          f"{mib(reading['weight_bytes'])} of it the model's weights")
    return 0 if right_answers == len(questions) else 1


if __name__ == "__main__":
    sys.exit(main())
