#!/usr/bin/env python3
"""Rules that no compiler checks: which room may include which, names, sizes, left-over marks."""

import pathlib
import re
import sys

from comments import check_comments
from lint_web import check_web
from rooms import ALONE, ROOMS

ROOT = pathlib.Path(__file__).resolve().parents[1]
# A room may include the rooms before it, except in these pairs.
STRANGERS = {("ops", "format"), ("ops", "tokenizer"), ("kv", "format"), ("kv", "tokenizer"),
             ("attention", "format"), ("attention", "tokenizer"), ("model", "tokenizer"), ("training", "tokenizer")}
LONGEST_FILE = 700
LONGEST_LINE_OF_A_PAGE = 160
INCLUDE = re.compile(r'#include "([a-z_]+)/')
LEFT_OVER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
VIEWS = re.compile(r"\bstd::(ranges::)?views::")
SKIPPED_TEST = re.compile(r"\b(GTEST_SKIP|DISABLED_)")
# Attention methods pass views of numbers from one operation to the next and never read the numbers.
# The operations therefore run on the device that holds the numbers (attention/method.h).
HELD_ON_THE_HOST = {
    re.compile(r"\bhost(_rows)?\("): "a method reads no numbers: pass the view on to an operation of ops/",
    re.compile(r"\bparallel_(for|ranges|runs)\b"): "a method runs no loops of its own: put the loop into an operation of ops/",
    re.compile(r"\bstd::vector<float>"): "a method's numbers lie in an Array<float>, which may be on a device",
    re.compile(r"(store|streams?(\[[^]]*\])?|KvStore)(\.|->|::)read\("):
        "a method reads no keys or values: KvStore::rows() describes them to an operation",
}
# Methods, and all code around them, are the same on every device. What devices do differently belongs to operations.
DEVICE_BRANCH = re.compile(r"\bon_host\(\)|\bdevice_ops\(|\.device\(\)|\bon_device\(|\bhas\(k[A-Z]")
REGISTRY = ROOT / "src/attention/registry.cc"
METHOD = re.compile(r"^ +METHOD\((\w+)\)", re.MULTILINE)


def sources(*folders, endings=(".cc", ".h")):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in endings:
                yield path


def check_includes(path, lines):
    room = path.relative_to(ROOT / "src").parts[0]
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match or match[1] == room:
            continue
        other = match[1]
        if other not in ROOMS:
            yield number, f"includes {other}/, which is no room"
        elif ROOMS.index(other) > ROOMS.index(room) or (room, other) in STRANGERS:
            yield number, f"room {room} may not include {other}/"


def is_operation(path):
    """Whether a file of src/attention belongs to an operation of one method. These lie in the method's folder
    methods/NAME/, beside the method itself, which is NAME.cc."""
    return path.parent.parent.name == "methods" and path.name != f"{path.parent.name}.cc"


def check_methods(path, lines):
    """What src/attention may not do itself."""
    for number, line in enumerate(lines, 1):
        code = line.partition("//")[0]
        for what, message in HELD_ON_THE_HOST.items():
            if what.search(code):
                yield number, message
        if DEVICE_BRANCH.search(code):
            yield number, "a method has no branches by device: put them into an operation of ops/ or of the method's folder"


def check_list(text, methods):
    """A method is its file, its line in the registry and its page. A list of all methods elsewhere, where one would be
    forgotten, has more than two thirds of them. A tool that writes a list forgets none."""
    if text.startswith("// Written by tools/"):
        return
    named = [name for name in methods if re.search(rf"\"{name}[\":,]", text)]
    if 3 * len(named) > 2 * len(methods):
        yield 1, f"lists {len(named)} attention methods by hand: go through attention_methods(), MethodInfo::small, ::covers"


def check_pages(methods):
    """What a method of the registry has outside src: a page with a picture, which the table of all pages links."""
    pages = ROOT / "docs/methods"
    table = (pages / "README.md").read_text(encoding="utf-8")
    for name in set(methods) - {"dense"}:  # the first row of the table is dense
        for file in (pages / f"{name}.md", pages / f"pictures/{name}.svg"):
            if not file.exists():
                yield REGISTRY, 1, f"{name} has no {file.relative_to(ROOT)}"
        if f"({name}.md)" not in table:
            yield pages / "README.md", 1, f"does not link {name}.md"


def check_text(path, lines):
    if path.suffix == ".h" and "bench" not in path.parts and (not lines or lines[0] != "#pragma once"):
        yield 1, "a header begins with #pragma once"
    if len(lines) > LONGEST_FILE:
        yield len(lines), f"has {len(lines)} lines; split it below {LONGEST_FILE}"
    included = set()
    for number, line in enumerate(lines, 1):
        if line.startswith("#include") and line in included:
            yield number, "is included twice"
        included.add(line)
        if LEFT_OVER.search(line):
            yield number, "left-over mark: finish it or open an issue"
        if VIEWS.search(line):
            yield number, "clang 14 (fuzzing, clang-tidy) cannot compile views of GCC's library: write a loop"
        # Only tests in tests/cuda may be skipped, because a machine may have no GPU.
        if "tests" in path.parts and "cuda" not in path.parts and SKIPPED_TEST.search(line):
            yield number, "a test that may not run proves nothing"


def check_links(path, text):
    """Relative links of a Markdown page lead to something."""
    for match in re.finditer(r"\]\(([^)#:]+)(#[^)]*)?\)", text):
        if not (path.parent / match[1]).exists():
            yield text.count("\n", 0, match.start()) + 1, f"broken link: {match[1]}"


def check_line_lengths(text):
    """Lines of a page fit a screen, except in tables, code blocks and what tools write."""
    fenced = generated = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if line.startswith("<!-- "):
            generated = not line.startswith("<!-- end")
        code = fenced or generated or line.startswith("    ")
        if len(line) > LONGEST_LINE_OF_A_PAGE and not code and not line.lstrip().startswith("|"):
            yield number, f"has {len(line)} characters; break the line before {LONGEST_LINE_OF_A_PAGE}"


# Matches a file of the project as pages name it: by its path from the root, or from src/ for a file
# of a room. Code may also have its bare name.
NAMED_FILE = re.compile(r"`((?:src|tests|tools|bench|fuzz|cmake|docs|%s)/[\w/.-]+\.(?:h|cc|cu|cuh|py|sh|md|json)"
                        r"|[A-Za-z][\w.-]*\.(?:h|cc|cu|cuh|py|sh|cmake))`" % "|".join(ROOMS))


def check_named_files(text, bare_names):
    """Files that a page names are there; names in capitals stand for any."""
    for match in NAMED_FILE.finditer(text):
        name = match[1]
        there = any((ROOT / folder / name).exists() for folder in (".", "src")) if "/" in name else name in bare_names
        if not there and not re.search("[A-Z]{4}", name):
            yield text.count("\n", 0, match.start()) + 1, f"names {name}, which is not there"


NAMESPACE = re.compile(r"namespace(?: ([\w:]+))? \{")
END_OF_NAMESPACE = re.compile(r"\}  // namespace(?: ([\w:]+))?$")
TYPE = re.compile(r"(?:template <.*> )?(?:class|struct|union|enum(?: class)?) (?:(?:alignas|__align__)\(\w+\) )?(\w+)(?: final)?(?: : .*)? \{")


def types_of(lines):
    """Types that a source defines, with their namespaces; those of nameless ones are its own."""
    open_ones = []
    for number, line in enumerate(lines, 1):
        if match := NAMESPACE.match(line):
            open_ones.append(match[1] or "")
        elif END_OF_NAMESPACE.match(line):
            open_ones.pop()
        elif "" not in open_ones and (match := TYPE.match(line)):
            yield "::".join([*open_ones, match[1]]), number


def check_types():
    """Two types of one name are no error to compiler or linker: the functions of one serve both."""
    where = {}
    for path in sources("src", endings=(".cc", ".h", ".cu", ".cuh")):
        for name, number in types_of(path.read_text(encoding="utf-8").splitlines()):
            other = where.setdefault(name, path)
            if other != path:
                yield path, number, f"{name} is a type of {other.relative_to(ROOT)} too"


BEGINNING_OF_TYPE = re.compile(r"(?:template <.*> )?(?:class|struct|enum(?: class)?|union) (?:alignas\(\w+\) )?(\w+)(?: final)?(?: : .*)? \{")
CONSTANT = re.compile(r"(?:static |inline |constexpr |const |thread_local |volatile )+[^=({]*?(\w+)(?:\[[^\]]*\])?(?: = |\{|;)")
FUNCTION = re.compile(r"[\w:<>,&*\[\]. ]+?[ *&](\w+)\(")


def helpers_of(lines):
    """Helpers that a source defines in anonymous namespaces: name, parameter types of a function, line."""
    inside = False
    for number, line in enumerate(lines, 1):
        if line in ("namespace {", "}  // namespace"):
            inside = line == "namespace {"
        elif not inside or not line or line[0] in " }#/)" or line.startswith("using "):
            continue
        elif match := BEGINNING_OF_TYPE.match(line) or CONSTANT.match(line):
            yield match[1], None, number
        elif match := FUNCTION.match(line):
            parameters = " ".join(part.strip() for part in lines[number - 1:number + 8])[match.end():]
            parameters = parameters.split(") ")[0].split(") {")[0]
            yield match[1], re.sub(r"\s*\b\w+\s*(?=,|$)", "", parameters), number


def check_helpers():
    """A build in batches compiles sources of a room as one file with one anonymous namespace: two helpers of one name
    are an error there, unless they are functions with different parameters."""
    where = {}
    for path in sources("src", endings=(".cc",)):
        room = path.relative_to(ROOT / "src").parts[0]
        name = path.name.removesuffix(".cc")
        if name in ALONE.get(room, ()):
            continue
        batch = "isa" if name.endswith(".isa") else ""
        variant = name.removesuffix(".no_gpu").removesuffix(".gpu")  # of X.gpu and X.no_gpu one is built
        for helper, parameters, number in helpers_of(path.read_text(encoding="utf-8").splitlines()):
            other, other_variant = where.setdefault((room, batch, helper, parameters), (path, variant))
            if other != path and other_variant != variant:
                yield path, number, (f"{helper} is a helper of {other.relative_to(ROOT)} too, and sources of a room are"
                                     " compiled in batches: rename it, or name the file under ALONE in CMakeLists.txt")


def check_headers():
    """A header that nothing includes is left over."""
    sources_of_all_kinds = list(sources("src", "tests", "fuzz", "bench", endings=(".cc", ".h", ".cu", ".cuh")))
    included = {pathlib.PurePath(name).name for path in sources_of_all_kinds
                for name in re.findall(r'#include "([^"]+)"', path.read_text(encoding="utf-8"))}
    for path in sources_of_all_kinds:
        if path.suffix in (".h", ".cuh") and path.name not in included and "compare" not in path.parts:
            yield path, 1, "nothing includes this header"


def problems():
    methods = METHOD.findall(REGISTRY.read_text(encoding="utf-8"))
    yield from check_pages(methods)
    yield from check_types()
    yield from check_headers()
    yield from check_helpers()
    yield from check_web(ROOT / "web")
    for path in sources("src", "tests", "fuzz", "bench", "tools"):
        parts = path.relative_to(ROOT).parts
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, what in check_text(path, lines):
            yield path, number, what
        if parts[0] == "src":
            for number, what in check_includes(path, lines):
                yield path, number, what
        for number, what in check_list("\n".join(lines), methods):
            yield path, number, what
        if parts[:2] == ("src", "attention") and not is_operation(path):
            for number, what in check_methods(path, lines):
                yield path, number, what
    for path in sources("src", "tests", "fuzz", "bench", "tools", endings=(".cc", ".h", ".cu", ".cuh")):
        folder = path.parent.relative_to(ROOT).as_posix()
        for number, what in check_comments(path.read_text(encoding="utf-8")):
            yield path, number, what
    folders = [ROOT / name for name in ("bench", "cmake", "data", "docs", "examples", "fuzz", "models", "src", "tests", "tools")]
    bare_names = {path.name for folder in folders for path in folder.rglob("*")}
    for path in [*ROOT.glob("*.md"), *(page for folder in folders for page in folder.rglob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        for number, what in [*check_links(path, text), *check_named_files(text, bare_names), *check_line_lengths(text)]:
            yield path, number, what


def main():
    count = 0
    for path, number, what in problems():
        print(f"{path.relative_to(ROOT)}:{number}: {what}", file=sys.stderr)
        count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
