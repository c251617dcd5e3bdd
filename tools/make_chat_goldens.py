#!/usr/bin/env python3
"""What jinja2 renders from each chat template in tests/data/tokenizer/chat, with the settings that
Hugging Face transformers uses. Writes chat/golden.json. Needs: jinja2."""
import json
import pathlib

from jinja2.sandbox import ImmutableSandboxedEnvironment

CHAT = pathlib.Path(__file__).parent.parent / "tests/data/tokenizer/chat"
BOS, EOS = "<BOS>", "<EOS>"  # so that it shows where a template writes them


class Refused(Exception):
    pass


def refuse(message):
    raise Refused(message)


def turns(*contents, system=None):
    out = [] if system is None else [{"role": "system", "content": system}]
    roles = ["user", "assistant"]
    return out + [{"role": roles[i % 2], "content": c} for i, c in enumerate(contents)]


CONVERSATIONS = {
    "question": turns("Who wrote it?"),
    "padded": turns("  \n two lines\n here \t "),
    "system": turns("Who wrote it?", system="Answer in one word."),
    "three": turns("Hello", "Hi there", "Who are you"),
    "five": turns("Hello", "  Hi there\n", "Who are you", "   I am an assistant   ", " Another? "),
    "five-system": turns("Hello", "Hi", "Who", "I", "Another?", system=" You are helpful.\n"),
    "empty": turns(""),
    "unicode": turns("Grüße, 世界 🦙", "¿Qué?", "«да»", system="naïve"),
    "thinking": turns("Hello", "<think>\nhm\n</think>\n\nHi", "Who are you"),
    "closed": turns("Hello", "Hi there"),
}


def main():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    env.globals["raise_exception"] = refuse
    cases = []
    for path in sorted(CHAT.glob("*.jinja")):
        template = env.from_string(path.read_text())
        for name, messages in CONVERSATIONS.items():
            if name == "closed" and path.stem == "llama3":
                continue  # asks for a reply whether one is wanted or not
            case = {"template": path.stem, "conversation": name, "messages": messages}
            try:
                case["expected"] = template.render(
                    messages=messages, bos_token=BOS, eos_token=EOS,
                    add_generation_prompt=messages[-1]["role"] == "user")
            except Refused:
                case["expected"] = None
            cases.append(case)
    lines = ",\n".join(json.dumps(case, ensure_ascii=True) for case in cases)
    (CHAT / "golden.json").write_text("[\n" + lines + "\n]\n")
    print(len(cases), "cases")


if __name__ == "__main__":
    main()
