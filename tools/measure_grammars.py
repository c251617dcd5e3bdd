#!/usr/bin/env python3
"""Measures src/grammar with the vocabulary of a real model: compilation, masks and memory.

  measure_grammars.py PROGRAM TOKENIZER [--schemas 200] [--seed 1] [--oracles]

PROGRAM is longhaul_check_texts of a release build. TOKENIZER is a model's folder or GGUF file. A mask is computed for
each token of up to 50 valid texts of each schema (the generator of compare_grammars.py). Times are processor times. --oracles measures xgrammar
and llguidance on the same schemas with the same tokens; it needs transformers as well."""

import argparse
import json
import os
import random
import statistics
import subprocess
import time

import compare_grammars


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part / 100 * len(ordered)))]


def large_schema(size, seed):
    """A schema of about `size` bytes: members of members, with texts, enumerations and patterns."""
    r = random.Random(seed)

    def member(i):
        kind = i % 5
        if kind == 0:
            return {"type": "string", "description": "line " + "x" * r.randint(20, 60), "maxLength": 200}
        if kind == 1:
            return {"type": "integer", "minimum": 0, "maximum": r.randint(10, 5000)}
        if kind == 2:
            return {"enum": [f"choice_{i}_{j}" for j in range(6)]}
        if kind == 3:
            return {"type": "array", "items": {"type": "string", "pattern": "^[a-z]{2,8}(-[0-9]{1,4})?$"}, "maxItems": 8}
        return {"type": "object", "properties": {f"part_{j}": {"type": ["string", "null"]} for j in range(4)},
                "required": ["part_0"], "additionalProperties": False}

    def grown(names):
        schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
        for i in names:
            schema["properties"][f"member_{i}"] = member(i)
            if r.random() < 0.5:
                schema["required"].append(f"member_{i}")
        return schema

    groups, schema, i = 0, {"type": "object", "properties": {}, "additionalProperties": False}, 0
    while len(json.dumps(schema)) < size:
        schema["properties"][f"group_{groups}"] = grown(range(i, i + 20))
        groups, i = groups + 1, i + 20
    return schema


def run(program, tokenizer, cases):
    lines = "".join(json.dumps({"kind": "schema", "text": json.dumps(s), "strings": t}) + "\n" for s, t in cases)
    out = subprocess.run([program, tokenizer], input=lines, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def valid_cases(count, seed):
    maker, cases = compare_grammars.Maker(seed), []
    while len(cases) < count:
        schema = maker.schema()
        texts = sorted({maker.text(schema) for _ in range(50)})
        right = [t for t, ok in zip(texts, compare_grammars.jsonschema_verdicts(schema, texts)) if ok]
        if right:
            cases.append((schema, right))
    return cases


def describe(name, times, unit=1000):
    print(f"{name}: {len(times):,} masks, mean {statistics.mean(times) * unit:.3f} ms, median "
          f"{statistics.median(times) * unit:.3f}, p99 {percentile(times, 99) * unit:.3f}, longest {max(times) * unit:.2f}", flush=True)


def oracles(tokenizer, cases):
    import llguidance.hf
    import transformers
    import xgrammar
    hf = transformers.PreTrainedTokenizerFast(tokenizer_file=os.path.join(tokenizer, "tokenizer.json"), eos_token="<|eot_id|>")
    info = xgrammar.TokenizerInfo.from_huggingface(hf, stop_token_ids=[hf.eos_token_id])
    compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
    other = llguidance.hf.from_tokenizer(hf)
    bitmask = xgrammar.allocate_token_bitmask(1, info.vocab_size)
    times = {"xgrammar": [], "llguidance": []}
    compiles = {"xgrammar": [], "llguidance": []}
    for schema, texts in cases:
        begin = time.thread_time()
        compiled = compiler.compile_json_schema(json.dumps(schema), any_whitespace=True, strict_mode=True)
        compiles["xgrammar"].append(time.thread_time() - begin)
        begin = time.thread_time()
        grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(schema))
        first = llguidance.LLMatcher(other, grammar)
        compiles["llguidance"].append(time.thread_time() - begin)
        for text in texts:
            tokens = hf.encode(text, add_special_tokens=False)
            matcher = xgrammar.GrammarMatcher(compiled)
            for token in tokens:
                begin = time.thread_time()
                matcher.fill_next_token_bitmask(bitmask)
                times["xgrammar"].append(time.thread_time() - begin)
                if not matcher.accept_token(token):
                    break
            second = first.deep_copy()
            for token in tokens:
                begin = time.thread_time()
                second.compute_bitmask()
                times["llguidance"].append(time.thread_time() - begin)
                if not second.try_consume_tokens([token]):
                    break
    for name in times:
        describe(name, times[name])
        print(f"{name}: compile, median {statistics.median(compiles[name]) * 1000:.2f} ms, longest {max(compiles[name]) * 1000:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("tokenizer")
    parser.add_argument("--schemas", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--oracles", action="store_true")
    options = parser.parse_args()
    cases = valid_cases(options.schemas, options.seed)
    print(f"load {os.getloadavg()[0]:.1f}; {len(cases)} schemas, {sum(len(t) for _, t in cases):,} texts", flush=True)
    answers = run(options.program, options.tokenizer, cases)
    errors = [a["error"] for a in answers if "error" in a]
    if errors:
        raise SystemExit(f"{len(errors)} errors: {errors[0]}")
    describe("longhaul", [t for a in answers for t in a["masks"]])
    compile_times = [a["compile"] for a in answers]
    print(f"longhaul: compile, median {statistics.median(compile_times) * 1000:.2f} ms, longest {max(compile_times) * 1000:.1f}; "
          f"memory, median {statistics.median(a['memory'] for a in answers) / 2**10:.0f} KiB, largest {max(a['memory'] for a in answers) / 2**20:.2f} MiB")
    for size in (5 << 10, 256 << 10):
        schemas = [large_schema(size - 600, seed) for seed in range(7)]
        answers = run(options.program, options.tokenizer, [(s, []) for s in schemas])
        if any("error" in a for a in answers):
            raise SystemExit(str(answers[0]))
        taken = [a["compile"] * 1000 for a in answers]
        print(f"longhaul: a schema of {statistics.median(len(json.dumps(s)) for s in schemas) / 1024:.0f} KiB compiles in "
              f"{statistics.median(taken):.1f} ms ({min(taken):.1f} to {max(taken):.1f})")
    if options.oracles:
        oracles(options.tokenizer, cases)


if __name__ == "__main__":
    main()
