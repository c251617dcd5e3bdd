#!/usr/bin/env python3
"""Pictures of an HTML page (a report, say) as a browser draws it, at desktop and phone width, light and dark.

    python3 -m venv VENV && VENV/bin/pip install playwright      (and a Chromium: apt-get install chromium)
    VENV/bin/python tools/look_at_page.py PAGE.html FOLDER [--browser /usr/bin/chromium]

Writes FOLDER/{desktop,phone}-{light,dark}.png and says what no picture shows: errors of the page, requests
that leave it, and whether it is wider than the window. Exit code 1 where one of these is found.
"""
import argparse
import pathlib
import sys

from playwright.sync_api import sync_playwright

WIDTHS = {"desktop": 1280, "phone": 390}  # CSS pixels


def look(browser, page_file, folder, name, scheme):
    found = []
    page = browser.new_page(viewport={"width": WIDTHS[name], "height": 900}, color_scheme=scheme)
    page.on("pageerror", lambda error: found.append(f"error: {error}"))
    page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else found.append(f"request: {r.url}"))
    page.goto(page_file.resolve().as_uri())
    width = page.evaluate("document.documentElement.scrollWidth")
    if width > WIDTHS[name]:
        found.append(f"{width} pixels wide in a window of {WIDTHS[name]}")
    page.screenshot(path=folder / f"{name}-{scheme}.png", full_page=True)
    page.close()
    return [f"{name}, {scheme}: {what}" for what in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--browser", default="/usr/bin/chromium")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=args.browser, args=["--no-sandbox"])
        found = []
        for name in WIDTHS:
            for scheme in ("light", "dark"):
                found += look(browser, args.page, args.folder, name, scheme)
        print(f"Chromium {browser.version}: four pictures in {args.folder}")
    print("\n".join(found) or "no errors, no requests, no wider than the window")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
