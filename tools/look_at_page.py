#!/usr/bin/env python3
"""Draws an HTML page (a report, for example) in a browser, at desktop and phone width, light and dark.

    python3 -m venv VENV && VENV/bin/pip install playwright      (and a Chromium: apt-get install chromium)
    VENV/bin/python tools/look_at_page.py PAGE.html FOLDER [--browser /usr/bin/chromium]

Writes FOLDER/{desktop,phone}-{light,dark}.png. It also checks for errors of the page, requests to other hosts, a page wider
than the window or taller than --tallest, and whether a report's table sorts by a click and filters by a word. The exit
status is 1 if a check fails.
"""
import argparse
import pathlib
import sys

from playwright.sync_api import sync_playwright

WIDTHS = {"desktop": 1280, "phone": 390}  # CSS pixels


def try_script(page):
    """What a click on a column and a word in the filter do; pages without tables have neither."""
    rows = "#glance tbody:first-of-type tr"
    if page.locator(rows).count() < 2:
        return
    def times():
        cells = page.locator(rows + " td:nth-last-child(4)")
        return [float(v) for v in cells.evaluate_all("all => all.map(c => c.dataset.v)") if v is not None]
    head = page.locator("#glance th:nth-last-child(4)")
    for order in (False, True):
        head.click()
        if times() != sorted(times(), reverse=order):
            yield f"a click does not sort: {times()}"
    page.fill("#filter", "dense")
    shown = page.locator(rows + " th").evaluate_all("all => all.filter(t => t.offsetParent).map(t => t.textContent)")
    if not shown or any("dense" not in label for label in shown):
        yield f"the filter 'dense' shows {shown}"


def look(browser, page_file, folder, name, scheme, tallest):
    found = []
    page = browser.new_page(viewport={"width": WIDTHS[name], "height": 900}, color_scheme=scheme)
    page.on("pageerror", lambda error: found.append(f"error: {error}"))
    page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else found.append(f"request: {r.url}"))
    page.goto(page_file.resolve().as_uri())
    width = page.evaluate("document.documentElement.scrollWidth")
    if width > WIDTHS[name]:
        found.append(f"{width} pixels wide in a window of {WIDTHS[name]}")
    height = page.evaluate("document.documentElement.scrollHeight")
    if height > tallest:
        found.append(f"{height} pixels tall, more than {tallest}")
    page.screenshot(path=folder / f"{name}-{scheme}.png", full_page=True)
    found += try_script(page)
    page.close()
    return [f"{name}, {scheme}: {what}" for what in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--browser", default="/usr/bin/chromium")
    parser.add_argument("--tallest", type=int, default=12000, help="pixels")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=args.browser, args=["--no-sandbox"])
        found = []
        for name in WIDTHS:
            for scheme in ("light", "dark"):
                found += look(browser, args.page, args.folder, name, scheme, args.tallest)
        print(f"Chromium {browser.version}: four pictures in {args.folder}")
    print("\n".join(found) or "no errors, no requests, no wider than the window, no taller than asked; the tables sort and filter")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
