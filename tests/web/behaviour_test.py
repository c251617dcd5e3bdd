#!/usr/bin/env python3
"""The page's behaviour against a server without a model: python3 tests/web/behaviour_test.py"""

import json
import pathlib
import tempfile
import time
import unittest

from browser import Keys, PageTest, need_browser
from stand_in import StandIn

need_browser()
HERE = pathlib.Path(__file__).resolve().parent
CHAPTER = (HERE.parents[1] / "examples/age_of_innocence_33.txt").read_text()
PAGES = "".join(f"[page {i + 1}]\n{CHAPTER[i * 2500:(i + 1) * 2500]}\n" for i in range(len(CHAPTER) // 2500 + 1))
CHECKS = "return " + (HERE / "page_checks.js").read_text().partition("\n")[2]  # without its comment


class Behaviour(PageTest):
    speed, pause, key = 1e9, 0.005, ""

    def setUp(self):
        super().setUp()
        self.server = StandIn(speed=self.speed, pause=self.pause, key=self.key)
        self.addCleanup(lambda: self.server.stop())
        self.store = self.server.store

    def about(self, text=PAGES, attention="dense", name="chapter.txt"):
        """Opens a new conversation about a document that the server has."""
        document = self.store.add(text, name, attention)
        self.page.open(f"{self.server.url}#/d/{document}")
        self.page.one(".document-head h2")
        return document

    def file(self, content, name="text.txt"):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name, name)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path


class Adding(Behaviour):
    speed = 2500

    def test_a_file_from_choice_to_answer(self):
        page = self.page
        page.open(self.server.url)
        page.add_file(self.file(PAGES, "chapter.txt"))
        page.one(".sticky .primary")
        self.assertIn("11 pages", page.text(".facts"))
        self.assertIn("Recommended: dense", page.text(".advice"))
        rows = page.all(".methods tbody tr")
        self.assertEqual(len([row for row in rows if row.is_displayed()]), 4)
        page.button("All 6 methods")
        self.assertEqual(len([row for row in page.all(".methods tbody tr") if row.is_displayed()]), 6)
        page.click(".sticky .primary")
        page.until(lambda: "tokens/s" in page.text(".progress"), "progress with speed")
        self.assertIn("left", page.text(".progress"))
        page.ask("Who gives the dinner?")  # waits for the text
        page.until(lambda: "Reading" in page.text(".answer"), "the question waits")
        page.answered()
        self.assertEqual(len(page.all(".cite")), 3)
        self.assertIn("tokens reused", page.text(".meta"))

    def test_drop(self):
        page = self.page
        page.open(self.server.url)
        page.run("""window.data = new DataTransfer(); data.items.add(new File([arguments[0]], 'dropped.txt', { type: 'text/plain' }));
                    document.body.dispatchEvent(new DragEvent('dragenter', { dataTransfer: data, bubbles: true }));""", PAGES)
        self.assertTrue(page.one("#drop").is_displayed())
        page.run("document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: window.data, bubbles: true, cancelable: true }))")
        page.one(".sticky .primary")
        self.assertFalse(page.one("#drop").is_displayed())
        self.assertEqual(page.text(".sheet h1"), "dropped.txt")

    def test_reload_during_the_prefill(self):
        page = self.page
        document = self.about()
        page.until(lambda: page.all(".progress progress"), "a bar")
        page.driver.refresh()
        page.until(lambda: "left" in page.text(".progress") or not page.all(".progress"), "the bar is there again")
        page.until(lambda: self.store.view(document)["status"] == "ready" and not page.all(".progress"), "the text has been read")
        self.assertEqual(len(self.store.documents), 1)

    def test_files_that_cannot_be_added(self):
        page = self.page
        for content, name, words in ((b"", "empty.txt", "nothing in it"), (b"\0\1\2", "picture.png", "no format that is read"), (b"  \n ", "blank.txt", "no text in it")):
            page.open(self.server.url)
            page.run("location.hash = '#/'")
            page.add_file(self.file(content, name))
            page.until(lambda: words in page.text("[role=alert]"), f"{name}: {words}")

    def test_files_that_are_too_large(self):
        page = self.page
        page.open(self.server.url)
        page.run("""const file = new File(['x'], 'huge.txt'); Object.defineProperty(file, 'size', { value: 300 << 20 });
                    import('/assets/add.js').then((module) => module.addFile(file));""")
        page.until(lambda: "at most 268 MB" in page.text("[role=alert]"), "the limit")
        self.assertEqual(self.store.files, {})

    def test_a_document_that_does_not_fit(self):
        page = self.page
        page.open(self.server.url)
        text = "One sentence of many that make a very long text. " * 70_000  # 780,000 tokens
        page.run("const text = arguments[0]; import('/assets/add.js').then((module) => module.addText(text));", text)
        page.one(".sticky .primary")
        self.assertTrue(page.one("input[value=snapkv]").is_displayed())  # what fits comes first
        page.button("All 6 methods")
        self.assertIn("too large", page.text(".fit.bad"))
        dense = page.one("input[value=dense]")
        self.assertFalse(dense.is_enabled())
        self.assertTrue(page.one("input[value=snapkv]").is_enabled())

    def test_paste_of_five_megabytes(self):
        page = self.page
        page.open(self.server.url)
        text = (CHAPTER + "\n") * (5_000_000 // len(CHAPTER))
        begin = time.monotonic()
        page.run("""const data = new DataTransfer(); data.setData('text/plain', arguments[0]);
                    document.getElementById('paste').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));""", text)
        page.one(".sticky .primary")
        self.assertIn("5.0 MB", page.text(".facts"))
        self.assertLess(time.monotonic() - begin, 60)


class Asking(Behaviour):
    pause = 0.03

    def test_a_source_is_shown_and_opened(self):
        page = self.page
        document = self.about()
        page.ask("Where does it happen?")
        page.answered()
        text = self.store.documents[document]["text"]
        for number, cite in enumerate(page.all(".cite"), 1):
            label = cite.get_attribute("aria-label")
            self.assertIn(f"sentence {number}", label)
            self.assertIn("Page", label)
        page.run("document.querySelectorAll('.cite')[1].focus()")
        quoted = page.one(".card .quote").text
        page.press(Keys.ENTER)
        marked = page.until(lambda: page.text("mark.active"), "the passage is marked")
        self.assertEqual(" ".join(marked.split()), " ".join(quoted.split()))
        self.assertIn(" ".join(marked.split()), " ".join(text.split()))
        top, height = page.run("const r = document.querySelector('mark.active').getBoundingClientRect(); return [r.top, innerHeight]")
        self.assertTrue(0 < top < height, (top, height))

    def test_reload_during_the_reply(self):
        page = self.page
        self.about()
        page.ask("What is it about?")
        page.until(lambda: len(page.text(".text-of-answer")) > 30, "the reply has begun")
        page.run("return import('/assets/state.js').then((s) => s.flush())")
        page.driver.refresh()
        page.answered()
        whole = page.text(".text-of-answer")
        page.driver.refresh()
        page.answered()
        self.assertEqual(page.text(".text-of-answer"), whole)
        self.assertEqual(self.store.generated, 1)
        self.assertEqual(len(page.all(".cite")), 3)
        stream = next(iter(self.store.streams.values()))["bytes"].decode()
        said = "".join(json.loads(line[6:])["choices"][0]["delta"].get("content", "") for line in stream.split("\n\n")
                       if line.startswith("data: {") and json.loads(line[6:])["choices"])
        kept = page.run("return import('/assets/state.js').then((s) => Object.values(s.state.conversations[0].messages).find((m) => m.role === 'assistant').text)")
        self.assertEqual(kept, said)

    def test_stop(self):
        page = self.page
        self.store.pause = 0.3
        self.about()
        page.ask("What is it about?")
        page.until(lambda: page.text(".text-of-answer"), "the reply has begun")
        page.button("Stop")
        self.store.pause = 0.01
        page.until(lambda: "Stopped." in page.text(".answer"), "it has stopped")
        self.assertEqual(len(self.store.streams), 0)
        self.assertTrue(page.all(".send:not([hidden])"))
        page.ask("And now?")
        page.answered(2)

    def test_the_server_is_away_for_a_while(self):
        page = self.page
        self.store.pause = 0.3
        self.about()
        page.ask("What is it about?")
        page.until(lambda: page.text(".text-of-answer"), "the reply has begun")
        self.server.stop()
        page.until(lambda: "No connection" in page.text("#connection"), "the page says so")
        self.store.pause = 0.01
        self.server.start()
        page.until(lambda: not page.text("#connection"), "the connection is back")
        page.answered()
        self.assertEqual(self.store.generated, 1)
        self.assertEqual(len(page.all(".cite")), 3)

    def test_two_methods_side_by_side(self):
        page = self.page
        self.about()
        page.run("""const s = [...document.querySelectorAll('.method-select select')].at(-1); s.value = 'snapkv'; s.dispatchEvent(new Event('change'));""")
        page.ask("What does he say?")
        page.until(lambda: len(page.all(".beside section")) == 2, "two answers")
        page.answered()
        self.assertEqual([node.text for node in page.all(".beside h3")], ["dense", "snapkv"])
        self.assertIn("The answers differ", page.text(".note"))
        self.assertEqual(sorted(entry["document"]["attention"] for entry in self.store.documents.values()), ["dense", "snapkv"])
        page.ask("And she?")  # the copy of the document is used again
        page.until(lambda: len(page.all(".beside section")) == 4, "four answers")
        self.assertEqual(len(self.store.documents), 2)

    def test_differences_are_marked(self):
        page = self.page
        page.open(self.server.url)
        first, second = "The old king gave the ring to his son, Anna.", "The old king sold the ring to his son Anna at once."
        found = page.run("return import('/assets/compare.js').then((m) => m.differences(arguments[0], arguments[1]))", first, second)
        self.assertEqual([first[r["from"]:r["to"]] for r in found["first"]], ["gave", ","])
        self.assertEqual([second[r["from"]:r["to"]] for r in found["second"]], ["sold", "at once"])
        self.assertGreater(found["equal"], 0.6)

    def test_another_method_beside_an_answer(self):
        page = self.page
        self.about()
        page.ask("What does he say?")
        page.answered()
        page.button("Answer with another method beside this one")
        page.click("dialog input[value=duo]")
        page.button("Ask", "dialog")
        page.until(lambda: [node.text for node in page.all(".beside h3")] == ["dense", "duo"], "both answers")
        page.answered()

    def test_branches(self):
        page = self.page
        self.about()
        page.ask("First question?")
        page.answered()
        first = page.text(".text-of-answer")
        page.run("document.querySelector('.question .actions').style.opacity = 1")
        page.button("Change the question")
        field = page.one(".edit")
        field.clear()
        field.send_keys("A second and longer question?", Keys.ENTER)
        page.answered()
        self.assertIn("2 / 2", page.text(".question .branches"))
        self.assertEqual(page.text(".said"), "A second and longer question?")
        page.button("Earlier version")
        page.until(lambda: page.text(".said") == "First question?", "the first branch")
        self.assertEqual(page.text(".text-of-answer"), first)
        page.button("Answer again")
        page.answered()
        self.assertIn("2 / 2", page.text(".answer .branches"))

    def test_export(self):
        page = self.page
        self.about()
        page.ask("What is it about?")
        page.answered()
        script = ("return Promise.all([import('/assets/export.js'), import('/assets/state.js')]).then(([e, s]) => "
                  "[e.markdownOf(s.state.conversations[0]), e.jsonOf(s.state.conversations[0])])")
        markdown, text = page.run(script)
        self.assertIn("## What is it about?", markdown)
        self.assertIn("> 1. ", markdown)
        self.assertIn("Chapter.txt, page", markdown)
        data = json.loads(text)
        self.assertEqual([m["role"] for m in data["messages"]], ["user", "assistant"])
        self.assertEqual(len(data["messages"][1]["sentences"]), 3)
        page.button("Save as Markdown")
        page.until(lambda: list(page.downloads.glob("*.md")), "a file")
        self.assertEqual(next(page.downloads.glob("*.md")).read_text(), markdown)

    def test_a_document_deleted_in_another_tab(self):
        page = self.page
        document = self.about()
        page.ask("What is it about?")
        page.answered()
        del self.store.documents[document]
        page.ask("And what else?")
        page.until(lambda: "no longer on the server" in page.text(".answer [role=alert]"), "the answer says so")
        page.until(lambda: page.all(".document.gone"), "the card says so")
        self.assertIn("What is it about?", page.text(".said"))

    def test_a_passage_of_the_conversation_itself(self):
        page = self.page
        page.open(self.server.url + "#/chat")
        page.ask("🎉 The secret is 58213. What is it?")
        page.answered()
        page.click(".cite")
        self.assertEqual(page.text(".said mark.active"), "secret")

    def test_talk_without_a_document(self):
        page = self.page
        page.open(self.server.url + "#/chat")
        page.ask("Hello")
        page.answered()
        self.assertEqual(page.text(".text-of-answer strong"), "This")
        self.assertEqual(len(page.all(".text-of-answer li")), 2)
        self.assertEqual(page.text(".text-of-answer pre"), "code <b>not bold</b>")


class Hostile(Behaviour):
    def test_replies_are_never_markup(self):
        page = self.page
        self.store.reply = ('<script>window.hurt = 1</script><img src=x onerror="window.hurt = 2"> <|im_end|><s> [x](javascript:alert(1)) **bold** '
                            'שלום עולם and مرحبا 👩‍👩‍👧 &amp; &lt;b&gt;')
        page.open(self.server.url + "#/chat")
        page.ask("<script>window.hurt = 3</script><img src=x onerror='window.hurt = 4'>")
        page.answered()
        self.assertIsNone(page.run("return window.hurt ?? null"))
        self.assertEqual(page.run("return document.querySelectorAll('main script, main img').length"), 0)
        self.assertIn("<script>window.hurt = 1</script>", page.text(".text-of-answer"))
        self.assertIn("<|im_end|><s>", page.text(".text-of-answer"))
        self.assertIn("&amp; &lt;b&gt;", page.text(".text-of-answer"))
        self.assertIn("שלום עולם", page.text(".text-of-answer"))

    def test_texts_are_never_markup(self):
        page = self.page
        text = ("<script>window.hurt = 5</script> begins this text, which is long enough. 👩‍👩‍👧 עברית היא שפה שנכתבת מימין לשמאל, והמשפט הזה ארוך דיו. "
                "An emoji 🎉 stands before this sentence, so that characters have two units.\n\n") * 3
        self.about(text, name="<b>name</b>.txt")
        self.assertEqual(page.text(".document-head h2"), "<b>name</b>.txt")
        page.ask("What is it about?")
        page.answered()
        for i in range(3):
            page.run("document.querySelectorAll('.cite')[arguments[0]].click()", i)
            source = page.run("return import('/assets/state.js').then((s) => Object.values(s.state.conversations[0].messages).find((m) => m.role === 'assistant').sentences[arguments[0]].sources[0])", i)
            page.until(lambda: page.run("return [...document.querySelectorAll('mark.active')].map((m) => m.textContent).join('')").strip() == source["text"], source["text"])
        self.assertIsNone(page.run("return window.hurt ?? null"))
        self.assertEqual(page.run("return document.querySelectorAll('.reader script').length"), 0)


class NeedsKey(Behaviour):
    key = "open sesame"

    def test_a_key_is_needed(self):
        page = self.page
        page.open(self.server.url)
        page.one("#key").send_keys("wrong", Keys.ENTER)
        page.until(lambda: "does not accept this key" in page.text("dialog"), "it is refused")
        page.one("#key").send_keys("open sesame", Keys.ENTER)
        page.until(lambda: page.text("#model") == "stand-in" and not page.all("dialog"), "it is accepted")
        self.assertEqual(page.run("return [Object.values(sessionStorage), Object.values(localStorage)]"), [["open sesame"], []])
        self.about()
        page.ask("What is it about?")
        page.answered()
        self.store.key = "another"  # the key is revoked
        page.ask("And now?")
        page.one("#key").send_keys("another", Keys.ENTER)
        page.until(lambda: not page.all("dialog"), "the new key")
        page.button("Ask again")
        page.until(lambda: len(page.all(".answer")) == 2 and not page.all(".answer [role=alert]"), "the answer")


class Looks(Behaviour):
    def check(self, what):
        found = self.page.run(CHECKS)
        self.page.picture(what)
        self.assertEqual(found, [], what)

    def setUp(self):
        super().setUp()
        self.page.resize(1280, 860)

    def views(self, name):
        page = self.page
        page.open(self.server.url)
        self.check(f"{name}-home")
        page.add_file(self.file(PAGES, "The Age of Innocence, chapter 33.txt"))
        page.one(".sticky .primary")
        self.check(f"{name}-plan")
        document = self.about(PAGES, "duo", "The Age of Innocence, chapter 33 (with a rather long name).txt")
        page.ask("What is it about?")
        page.answered()
        page.click(".passages summary")
        self.check(f"{name}-answer")
        page.run("document.querySelectorAll('.cite')[0].click()")
        page.one("mark.active")
        page.button("Kept tokens")
        page.one(".map canvas")
        self.check(f"{name}-text")
        page.button("Close the text")
        page.run("""const s = [...document.querySelectorAll('.method-select select')].at(-1); s.value = 'snapkv'; s.dispatchEvent(new Event('change'));""")
        page.ask("Compare these two")
        page.answered(2)
        self.check(f"{name}-two")
        page.run("location.hash = '#/server'")
        page.until(lambda: "Memory" in page.text("main h2"), "the server view")
        self.check(f"{name}-server")
        return document

    def test_desktop(self):
        self.views("desktop")

    def test_phone(self):
        self.page.resize(360, 740)
        self.views("phone")

    def test_dark(self):
        self.page.dark(True)
        self.addCleanup(self.page.dark, False)
        self.views("dark")

    def test_dark_phone(self):
        self.page.resize(360, 740)
        self.page.dark(True)
        self.addCleanup(self.page.dark, False)
        self.views("dark-phone")

    def test_everything_by_keyboard(self):
        page = self.page
        page.open(self.server.url)
        order = []
        for _ in range(12):
            page.press(Keys.TAB)
            order.append(page.run("const a = document.activeElement; return a.id || a.className || a.tagName"))
        self.assertEqual(order[:6], ["skip", "brand", "quiet-link", "button primary new", "file", "paste"])
        boxes = page.run("const b = document.querySelector('.file').getBoundingClientRect(); return [b.width > 0, getComputedStyle(document.activeElement).outlineStyle]")
        self.assertTrue(boxes[0])
        self.about()
        page.ask("By keyboard?")
        page.answered()
        page.run("document.querySelector('.cite').focus()")
        page.press(Keys.ENTER)
        page.one("mark.active")
        self.assertEqual(page.run("return document.activeElement.className"), "text")
        page.press(Keys.ESCAPE)
        page.until(lambda: page.run("return document.getElementById('reader').hidden"), "Escape closes the text")
        self.assertEqual(page.run("return document.activeElement.id"), "show-text")

    def test_replies_are_announced(self):
        page = self.page
        self.about()
        page.ask("What is it about?")
        page.answered()
        page.until(lambda: page.run("return document.getElementById('live').textContent.length") > 30, "the live region has the reply")

    def test_reduced_motion(self):
        page = self.page
        page.media("prefers-reduced-motion", "reduce")
        self.addCleanup(page.media, "prefers-reduced-motion", "")
        page.open(self.server.url)
        page.run("document.querySelector('main').insertAdjacentElement('beforeend', Object.assign(document.createElement('p'), { className: 'busy' }))")
        self.assertEqual(page.run("return getComputedStyle(document.querySelector('.busy'), '::before').animationName"), "none")


class Reading(Behaviour):
    def test_only_what_is_visible_is_in_the_page(self):
        page = self.page
        self.about("".join(f"Paragraph {i} says that the number is {i * 7919 % 100003}. " * 3 + "\n\n" for i in range(20_000)))
        page.button("Open the text")
        page.one(".block")
        self.assertLess(page.run("return document.querySelectorAll('.block').length"), 200)
        for place in (1.0, 0.5, 0.123, 0.0):
            page.run("const t = document.querySelector('.text'); t.scrollTop = arguments[0] * (t.scrollHeight - t.clientHeight)", place)
            wanted = int(place * 20_000)
            page.until(lambda: any(abs(int(found.split()[1]) - wanted) < 500 for found in page.run(
                "const b = document.querySelector('.text').getBoundingClientRect();"
                "return [...document.querySelectorAll('.block')].filter((n) => n.getBoundingClientRect().bottom > b.top + 1).slice(0, 3).map((n) => n.textContent)")), f"paragraph {wanted}")

    def test_search(self):
        page = self.page
        self.about()
        page.button("Open the text")
        field = page.one(".search")
        field.send_keys("archer")
        wanted = CHAPTER.lower().count("archer")
        page.until(lambda: f"1 of {wanted}" == page.text(".found"), f"1 of {wanted}; {page.text('.found')}")
        field.send_keys(Keys.ENTER)
        page.until(lambda: page.text(".found").startswith("2 of"), "the next one")
        self.assertEqual(page.text("mark.current").lower(), "archer")
        field.clear()
        field.send_keys("no such words")
        page.until(lambda: page.text(".found") == "none", "nothing is found")

    def test_pages(self):
        page = self.page
        self.about()
        page.button("Open the text")
        field = page.one(".page")
        page.run("arguments[0].value = 7; arguments[0].dispatchEvent(new Event('change'))", field)
        page.until(lambda: "[page 7]" in page.text(".page-line"), "page 7")
        box = page.run("return [...document.querySelectorAll('.page-line')].find((n) => n.textContent.includes('[page 7]')).getBoundingClientRect().top - document.querySelector('.text').getBoundingClientRect().top")
        self.assertLess(abs(box), 40)

    def test_blocks_cover_the_text(self):
        page = self.page
        page.open(self.server.url)
        script = ("return import('/assets/text_view.js').then((m) => arguments[0].map((text) => { const s = [...m.blocksOf(text)];"
                  "return [s[0], s.every((at, i) => i === 0 || at > s[i - 1]), s.every((at) => at < Math.max(1, text.length) && !/[\\udc00-\\udfff]/.test(text[at] || '')), s.length]; }))")
        texts = ["", "a", "\n\n\n", "a\n\nb", "x" * 20_000, "😀" * 9000, "[page 1]\na\n[page 2]\nb", "line\n" * 5000, "a b " * 9000]
        for text, (first, rising, inside, count) in zip(texts, page.run(script, texts)):
            self.assertTrue(first == 0 and rising and inside, (text[:20], first, rising, inside))
            if len(text) > 9000:
                self.assertGreater(count, 4)


if __name__ == "__main__":
    unittest.main()
