#!/usr/bin/env python3
"""Checks src/grammar with the JSON-Schema-Test-Suite, whose files are not part of this repository.

  check_schema_suite.py PROGRAM SUITE/tests/draft2020-12

PROGRAM is longhaul_check_texts. The archive of jsonschema (PyPI, --no-binary) has the suite in json/. Every instance of
a schema that longhaul compiles is read as JSON text. The exit status is 1 if longhaul accepts an invalid instance.
Valid ones may be refused: members have the order of the schema, for example."""

import collections
import json
import pathlib
import subprocess
import sys

# Groups whose verdict depends on something that a text of JSON does not say, with the reason.
LEFT_OUT = {"a schema given for": "reads schemas as instances"}


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    groups = []
    for file in sorted(folder.glob("*.json")):
        for group in json.loads(file.read_text(encoding="utf-8")):
            groups.append((file.stem, group))
    lines = [json.dumps({"kind": "schema", "text": json.dumps(g["schema"]),
                         "strings": [json.dumps(t["data"], ensure_ascii=False) for t in g["tests"]]}) for _, g in groups]
    out = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True).stdout
    counts, refused, wrong, missing = collections.Counter(), collections.Counter(), [], collections.Counter()
    for (name, group), line in zip(groups, out.splitlines(), strict=True):
        answer = json.loads(line)
        if "error" in answer:
            counts["refused schemas"] += 1
            refused[answer["error"].split("'")[1] if "'" in answer["error"] else answer["error"][:60]] += 1
            continue
        counts["schemas"] += 1
        for test, accepted in zip(group["tests"], answer["accepted"], strict=True):
            counts["instances"] += 1
            if accepted and not test["valid"]:
                wrong.append(f"{name}: {group['description']}: {test['description']}: {json.dumps(test['data'])}")
            elif test["valid"] and not accepted:
                missing[f"{name}: {group['description']}: {test['description']}"] += 1
            else:
                counts["equal"] += 1
    print(f"{counts['schemas']} schemas, {counts['instances']} instances, {counts['equal']} with the suite's verdict, "
          f"{len(wrong)} invalid ones accepted, {sum(missing.values())} valid ones refused; {counts['refused schemas']} schemas refused")
    print("refused keywords:", ", ".join(f"{k} {n}" for k, n in refused.most_common()))
    for line in wrong:
        print("ACCEPTED", line)
    for line in missing:
        print("refused", line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
