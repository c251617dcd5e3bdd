"""Rules for the web page (web/): no markup from texts, no code from texts, nothing from elsewhere. lint.py calls them."""

import gzip
import re

LONGEST_MODULE = 200
MOST_BYTES = 60 << 10  # of all files, compressed
FORBIDDEN = {
    re.compile(r"\b(innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|DOMParser|srcdoc)\b"):
        "texts become elements by textContent and append(), never by markup",
    re.compile(r"\bdocument\.write"): "texts become elements by textContent and append(), never by markup",
    re.compile(r"\beval\b|\bnew Function\b|\bimport\("): "no code is made at run time",
    re.compile(r"""\bset(Timeout|Interval)\(\s*['"`]"""): "no code is made at run time",
    re.compile(r"javascript:", re.IGNORECASE): "no code is made at run time",
    re.compile(r"""(?:https?:|wss?:|["'(=]\s*)//[\w.-]+\.\w""", re.IGNORECASE): "the page asks no other server",
    re.compile(r"@import"): "the page has one style sheet",
}
NAMESPACE = "http://www.w3.org/2000/svg"  # a name, not an address
IN_HTML = {
    re.compile(r"<script(?![^>]*\bsrc=)"): "scripts are modules of their own",
    re.compile(r"<style\b|\sstyle="): "styles are in page.css",
    re.compile(r"\son\w+="): "events are bound in modules",
}
IMPORT = re.compile(r"""^(?:import|export)\b[^;]*?\bfrom\s*['"]([^'"]*)['"]|^import\s*['"]([^'"]*)['"]""", re.MULTILINE)


def check_web_file(name, text, names):
    """Yields (line, problem). `names`: all files of the page."""
    lines = text.splitlines()
    if name.endswith(".js") and len(lines) > LONGEST_MODULE:
        yield len(lines), f"has {len(lines)} lines; split it below {LONGEST_MODULE}"
    for number, line in enumerate(lines, 1):
        for pattern, message in FORBIDDEN.items() | (IN_HTML.items() if name.endswith(".html") else set()):
            if pattern.search(line.replace(NAMESPACE, "")):
                yield number, message
    if name.endswith(".js"):
        for match in IMPORT.finditer(text):
            target = match[1] or match[2]
            if not target.startswith("./") or target[2:] not in names:
                yield text.count("\n", 0, match.start()) + 1, f"imports {target}, which is no module of the page"


def check_web(folder):
    """Yields (path, line, problem) for all files of the page."""
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    names = {path.name for path in paths}
    for path in paths:
        for number, what in check_web_file(path.name, path.read_text(encoding="utf-8"), names):
            yield path, number, what
    size = sum(len(gzip.compress(path.read_bytes(), 9)) for path in paths)
    if size > MOST_BYTES:
        yield folder / "index.html", 1, f"all files have {size} bytes compressed, more than {MOST_BYTES}"
