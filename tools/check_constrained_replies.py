#!/usr/bin/env python3
"""Replies of a model at temperature 1 that are held to random schemas, checked by Python's jsonschema.

  check_constrained_replies.py PROGRAM [--model nano] [--schemas 2000] [--suite SUITE/tests/draft2020-12] [--parallel 8]

PROGRAM is longhaul. The schemas are those of compare_grammars.py, and with --suite those of the JSON-Schema-Test-Suite.
A reply that ends by itself has to be valid. A reply that reaches its limit has to be the beginning of JSON at least.
Schemas with oneOf are left out, because it is read as anyOf. The exit status is 1 after an invalid reply."""

import argparse
import concurrent.futures
import decimal
import json
import pathlib
import sys
import time
import urllib.error
import urllib.request

import compare_grammars
import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "bench" / "serve"))
from servers import Server, free_port  # noqa: E402

FORMATS = jsonschema.FormatChecker(("date", "uuid", "ipv4"))  # those of the generator; unknown formats restrict nothing


def suite_schemas(folder):
    for file in sorted(pathlib.Path(folder).glob("*.json")):
        for group in json.loads(file.read_text(encoding="utf-8")):
            if isinstance(group["schema"], dict) and '"oneOf"' not in json.dumps(group["schema"]):
                yield group["schema"]


def complete(port, schema, seed):
    body = {"prompt": f"Item {seed}:\n", "n_predict": 160, "temperature": 1, "seed": seed, "json_schema": schema, "cache_prompt": False}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/completion", json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=600) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return {"refused": json.load(error)["error"]["message"], "status": error.code}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--model", default="nano")
    parser.add_argument("--schemas", type=int, default=2000)
    parser.add_argument("--suite")
    parser.add_argument("--parallel", type=int, default=8)
    options = parser.parse_args()
    maker = compare_grammars.Maker(11)
    schemas = [maker.schema() for _ in range(options.schemas)]
    if options.suite:
        schemas += suite_schemas(options.suite)
    port, counts, bad = free_port(), {"ended": 0, "cut": 0, "refused": 0}, []
    command = [options.program, "serve", "-m", options.model, "-t", "1", "--listen", f"127.0.0.1:{port}", "--quiet", "--ctx", "4096"]
    begin = time.time()
    with Server("Longhaul", command, port), concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        replies = pool.map(lambda i: complete(port, schemas[i], i), range(len(schemas)))
        for schema, reply in zip(schemas, replies, strict=True):
            if "refused" in reply:
                counts["refused"] += 1
                if reply["status"] != 400:
                    bad.append((schema, reply))
            elif reply["stop_type"] == "limit":
                counts["cut"] += 1
            else:
                counts["ended"] += 1
                try:
                    value = json.loads(reply["content"], parse_float=decimal.Decimal)  # a float would round 0.999...
                    jsonschema.Draft202012Validator(schema, format_checker=FORMATS).validate(value)
                except (ValueError, jsonschema.ValidationError) as error:
                    bad.append((schema, reply["content"], str(error).splitlines()[0]))
    print(f"{len(schemas)} schemas in {time.time() - begin:.0f} s: {counts['ended']} replies ended by themselves, {counts['cut']} reached "
          f"their limit, {counts['refused']} schemas refused; {len(bad)} invalid")
    for one in bad[:20]:
        print("  ", json.dumps(one, ensure_ascii=False)[:600])
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
