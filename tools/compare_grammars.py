#!/usr/bin/env python3
"""Compares src/grammar with xgrammar, llguidance and jsonschema (all from PyPI) on random schemas and texts.

  compare_grammars.py PROGRAM [SCHEMAS] [SEED] [--write FILE]

PROGRAM is longhaul_check_texts. For each schema the script makes texts that are valid, nearly valid and invalid. It
reports every text on which longhaul accepts what jsonschema refuses, and counts those on which the other programs
differ. --write keeps cases on which all agree, for tests/grammar/oracle_test.cc.
"""

import json
import pathlib
import random
import subprocess
import sys

import jsonschema
import llguidance
import xgrammar

WORDS = ["a", "ab", "name", "names", "größe", "x y", "quote\"", "tab\t", "back\\", "日本", "", "0", "null", "😀"]
PATTERNS = ["^[a-z]{2,4}$", "^(ab|c)+$", "^[A-Z][a-z]*( [A-Z][a-z]*)?$", "^\\d{3}-\\d{2}$", "^a.c$", "^[^x]*$"]


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def schema(self, depth=0):
        r = self.r
        kinds = ["string", "integer", "number", "boolean", "null", "enum", "const"]
        if depth < 3:
            kinds += ["object"] * 4 + ["array"] * 3 + ["anyOf", "types"]
        kind = r.choice(kinds) if depth else r.choice(["object", "object", "array", "anyOf"])
        if kind == "string":
            s = {"type": "string"}
            which = r.random()
            if which < 0.2:
                s["pattern"] = r.choice(PATTERNS)
            elif which < 0.3:
                s["format"] = r.choice(["date", "uuid", "ipv4"])
            elif which < 0.5:
                low = r.randint(0, 3)
                s["minLength"] = low
                if r.random() < 0.7:
                    s["maxLength"] = low + r.randint(0, 5)
            return s
        if kind in ("integer", "number"):
            s = {"type": kind}
            if r.random() < 0.5:
                low = r.choice([-150, -10, -1, 0, 1, 7, 99])
                s[r.choice(["minimum", "exclusiveMinimum"])] = low
                if r.random() < 0.6:
                    s[r.choice(["maximum", "exclusiveMaximum"])] = low + r.choice([1, 2, 12, 100, 1234])
            return s
        if kind in ("boolean", "null"):
            return {"type": kind}
        if kind == "enum":
            return {"enum": r.sample([1, 2.5, "a", "größe", None, True, "b\"c", -3], r.randint(1, 4))}
        if kind == "const":
            return {"const": r.choice(["on", 7, False])}
        if kind == "object":
            names = r.sample([w for w in WORDS if w], r.randint(0, 4))
            s = {"type": "object", "properties": {n: self.schema(depth + 1) for n in names}}
            s["required"] = [n for n in names if r.random() < 0.5]
            s["additionalProperties"] = False if r.random() < 0.6 else {"type": r.choice(["string", "integer"])}
            return s
        if kind == "array":
            s = {"type": "array", "items": self.schema(depth + 1)}
            if r.random() < 0.4:
                s["minItems"] = r.randint(0, 2)
            if r.random() < 0.4:
                s["maxItems"] = s.get("minItems", 0) + r.randint(0, 2)
            return s
        if kind == "anyOf":
            return {"anyOf": [self.schema(depth + 1) for _ in range(r.randint(1, 3))]}
        return {"type": r.sample(["string", "integer", "null", "boolean"], 2)}

    def text_of_pattern(self, pattern):
        r = self.r
        return {"^[a-z]{2,4}$": lambda: "".join(r.choice("abz") for _ in range(r.randint(1, 5))),
                "^(ab|c)+$": lambda: "".join(r.choice(["ab", "c"]) for _ in range(r.randint(1, 4))),
                "^[A-Z][a-z]*( [A-Z][a-z]*)?$": lambda: r.choice(["Ada", "Ada Lovelace", "ada", "A B C"]),
                "^\\d{3}-\\d{2}$": lambda: r.choice(["123-45", "12-345"]),
                "^a.c$": lambda: r.choice(["abc", "aéc", "ac"]),
                "^[^x]*$": lambda: r.choice(["", "größe", "xy", "a\"b"])}[pattern]()

    def value(self, s):
        r = self.r
        if r.random() < 0.04:
            return r.choice([None, 1, "a", [], {}, True, -2.5])
        if "anyOf" in s:
            return self.value(r.choice(s["anyOf"]))
        if "enum" in s:
            return r.choice(s["enum"])
        if "const" in s:
            return s["const"]
        kind = s.get("type")
        if isinstance(kind, list):
            kind = r.choice(kind)
        if kind == "string":
            if "pattern" in s:
                return self.text_of_pattern(s["pattern"])
            if "format" in s:
                return {"date": r.choice(["2026-11-27", "2026-13-01"]), "ipv4": r.choice(["10.0.255.1", "1.2.3.256"]),
                        "uuid": "123e4567-e89b-12d3-a456-42661417400" + r.choice(["0", "g"])}[s["format"]]
            return r.choice(WORDS) * r.randint(1, 2)
        if kind in ("integer", "number"):
            low = s.get("minimum", s.get("exclusiveMinimum", -20))
            high = s.get("maximum", s.get("exclusiveMaximum", low + 200))
            n = r.choice([low, high, low + 1, high - 1, r.randint(low - 2, high + 2)])
            return n + r.choice([0.5, 0.25, 0.0, 0.125]) if kind == "number" and r.random() < 0.5 else n
        if kind == "boolean":
            return r.random() < 0.5
        if kind == "object":
            made = {}
            for name, member in s["properties"].items():
                if name in s["required"] or r.random() < 0.6:
                    made[name] = self.value(member)
            if made and r.random() < 0.05:
                made.pop(next(iter(made)))
            if s["additionalProperties"] and r.random() < 0.5:
                made["extra"] = "t" if s["additionalProperties"]["type"] == "string" else 5
            return made
        if kind == "array":
            low = s.get("minItems", 0)
            return [self.value(s["items"]) for _ in range(r.randint(max(0, low - r.randint(0, 1)), s.get("maxItems", low + 2)))]
        return None

    def text(self, schema):
        r = self.r
        value = self.value(schema)
        text = json.dumps(value, ensure_ascii=r.random() < 0.1, separators=r.choice([(",", ":"), (", ", ": ")]))
        if r.random() < 0.15 and text:
            at = r.randrange(len(text))
            text = text[:at] + r.choice(["", "1", "\"", "}", "a", ","]) + text[at + 1:]
        return text


class Xgrammar:
    def __init__(self):
        info = xgrammar.TokenizerInfo([bytes([i]) for i in range(256)] + [b"</s>"], vocab_type=xgrammar.VocabType.RAW,
                                      stop_token_ids=[256])
        self.compiler = xgrammar.GrammarCompiler(info)

    def verdicts(self, schema, texts):
        compiled = self.compiler.compile_json_schema(json.dumps(schema), any_whitespace=True, strict_mode=True)
        found = []
        for text in texts:
            matcher = xgrammar.GrammarMatcher(compiled)
            found.append(int(matcher.accept_string(text) and matcher.accept_token(256)))
        return found


class Llguidance:
    def __init__(self):
        self.tokenizer = llguidance.LLTokenizer("byte")

    def verdicts(self, schema, texts):
        grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(schema))
        found = []
        for text in texts:
            matcher = llguidance.LLMatcher(self.tokenizer, grammar)
            if matcher.is_error():
                raise ValueError(matcher.get_error())
            tokens = list(text.encode())
            found.append(int(matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()))
        return found


def jsonschema_verdicts(schema, texts):
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
    found = []
    for text in texts:
        try:
            found.append(int(validator.is_valid(json.loads(text))))
        except ValueError:
            found.append(0)
    return found


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--") and a != (sys.argv[-1] if "--write" in sys.argv else None)]
    program, count = arguments[0], int(arguments[1]) if len(arguments) > 1 else 200
    maker = Maker(int(arguments[2]) if len(arguments) > 2 else 1)
    others = {"xgrammar": Xgrammar(), "llguidance": Llguidance()}
    cases = []
    for _ in range(count):
        schema = maker.schema()
        cases.append((schema, sorted({maker.text(schema) for _ in range(50)})))
    lines = [json.dumps({"kind": "schema", "text": json.dumps(s), "strings": t}) for s, t in cases]
    ours = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    totals, differ, wrong, kept, refused = 0, {n: {} for n in others}, [], [], []
    for (schema, texts), line in zip(cases, ours.stdout.splitlines()):
        answer = json.loads(line)
        if "error" in answer:
            refused.append((schema, answer["error"]))
            continue
        mine = answer["accepted"]
        totals += len(texts)
        right = jsonschema_verdicts(schema, texts)
        wrong += [(schema, t) for t, a, b in zip(texts, mine, right) if a and not b]
        agree = [a == b for a, b in zip(mine, right)]
        for name, other in others.items():
            try:
                theirs = other.verdicts(schema, texts)
            except Exception as error:  # a schema that the other program refuses
                differ[name].setdefault("refused", []).append((schema, str(error)))
                continue
            for i, (t, a, b) in enumerate(zip(texts, mine, theirs)):
                if a != b:
                    agree[i] = False
                    key = f"longhaul {a}, {name} {b}, jsonschema {right[i]}"
                    differ[name].setdefault(key, []).append((schema, t))
        kept.append({"kind": "schema", "text": json.dumps(schema, ensure_ascii=False),
                     "accepted": [t for t, a, ok in zip(texts, mine, agree) if a and ok][:4],
                     "refused": [t for t, a, ok in zip(texts, mine, agree) if not a and ok][:4]})
    print(f"{count} schemas, {totals} texts; refused schemas: {len(refused)}; accepted but invalid: {len(wrong)}")
    for item in refused[:5] + wrong[:10]:
        print("  ", item)
    for name, groups in differ.items():
        for key, items in groups.items():
            print(f"{name}: {key}: {len(items)}")
            for item in items[:3]:
                print("  ", json.dumps(item[0], ensure_ascii=False)[:300], "|", item[1])
    if "--write" in sys.argv:
        full = [case for case in kept if case["accepted"] and case["refused"]]
        pathlib.Path(sys.argv[-1]).write_text("".join(json.dumps(c, ensure_ascii=False) + "\n" for c in full), encoding="utf-8")


if __name__ == "__main__":
    main()
