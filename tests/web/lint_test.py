#!/usr/bin/env python3
"""The lint of the web page finds what it forbids: python3 tests/web/lint_test.py"""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from lint_web import check_web, check_web_file  # noqa: E402


class Lint(unittest.TestCase):
    def found(self, text, name="a.js"):
        return list(check_web_file(name, text, {"a.js", "b.js"}))

    def test_markup_and_code_from_texts(self):
        for line in ("node.innerHTML = text;", "node.outerHTML = text;", "node.insertAdjacentHTML('beforeend', text);", "document.write(text);",
                     "eval(text);", "new Function(text)();", "setTimeout('go()', 5);", "new DOMParser()", "link.href = 'javascript:go()';"):
            self.assertTrue(self.found(line), line)

    def test_other_servers(self):
        for line in ("fetch('https://example.com/x');", "import { a } from 'https://example.com/a.js';", "link.href = '//example.com/a.css';",
                     "new WebSocket('wss://example.com')", "import { a } from 'lib';", "import './c.js';", "const a = await import(name);"):
            self.assertTrue(self.found(line), line)
        self.assertTrue(self.found("@import url(other.css);", "page.css"))
        self.assertFalse(self.found("import { a } from './b.js';  // a comment"))
        self.assertFalse(self.found("const SVG = 'http://www.w3.org/2000/svg';"))

    def test_markup_of_the_page(self):
        for line in ("<script>go()</script>", "<p style=\"color: red\">", "<body onload=\"go()\">", "<style>p {}</style>"):
            self.assertTrue(self.found(line, "index.html"), line)
        self.assertFalse(self.found('<script type="module" src="assets/main.js"></script>', "index.html"))

    def test_long_modules(self):
        self.assertTrue(self.found("\n" * 201))
        self.assertFalse(self.found("\n" * 200))

    def test_the_page_itself(self):
        self.assertEqual(list(check_web(ROOT / "web")), [])


if __name__ == "__main__":
    unittest.main()
