"""Comments begin with the subject of a sentence, not with a word that stands for one. lint.py calls check_comments()."""

import bisect
import re

# A string or character literal may contain slashes, so the pattern matches literals as well and the caller skips them.
TOKEN = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"'
                   r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|//[^\n]*|/\*(?:.|\n)*?\*/")
OPENING = re.compile(r"//[/<]*\s*(of|what|those|that|where|the same)\b", re.IGNORECASE)


def comments(text):
    """The first line of each comment: its number and its text. Lines of one column and one marker are one comment."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    before = None
    for match in TOKEN.finditer(text):
        if not match[0].startswith("//"):
            continue
        number = bisect.bisect_right(starts, match.start())
        column = match.start() - starts[number - 1]
        trails = bool(text[starts[number - 1]:match.start()].strip())
        marker = re.match("//[/<]*", match[0])[0].rstrip("<")
        if trails or before != (number - 1, column, marker):
            yield number, match[0]
        before = number, column, marker


def check_comments(text):
    for number, comment in comments(text):
        if match := OPENING.match(comment):
            yield number, f'the comment begins with "{match[1]}": begin with the subject'
