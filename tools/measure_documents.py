#!/usr/bin/env python3
"""Ten documents as PDF against the same text as plain text: tokens, and cases for `longhaul eval jsonl`.

    tools/measure_documents.py --longhaul build/release/src/cli/longhaul --out FOLDER [-m MODEL]

writes FOLDER/NAME.pdf and NAME.txt, prints a table of tokens, and writes answers.jsonl: the same questions about the
text that Longhaul reads from the PDF (group pdf) and about the plain text (group text), for one command

    longhaul eval jsonl FOLDER/answers.jsonl -m MODEL --attention dense --opening off

Needs groff, pdflatex, soffice (LibreOffice),
pdftotext and reportlab (python3-reportlab). Documents whose program is missing are left out and named."""

import argparse
import gzip
import html
import json
import pathlib
import random
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FACTS = [("the lighthouse", "Maren Oldsund"), ("the north mill", "Tobias Quell"), ("the customs house", "Hedda Brightwater"),
         ("the rope yard", "Casimir Lund"), ("the old ferry", "Oswin Tarrant"), ("the salt store", "Ilse Verhoven"),
         ("the chapel bell", "Piers Ashdown"), ("the toll gate", "Runa Fairholm"), ("the net loft", "Edmund Saltmarsh"),
         ("the signal tower", "Livia Castellan")]


def paragraphs(book, start, count):
    """Paragraphs of a book; those in one line of the file."""
    with gzip.open(ROOT / f"data/books/{book}.txt.gz", "rt", encoding="utf-8") as lines:
        found = [" ".join(part.split()) for part in lines.read().replace("\r", "").split("\n\n")]
    found = [part.replace("_", "") for part in found if len(part) > 200 and part.isprintable()]
    return found[start:start + count]


def document(number):
    """Blocks (kind, content) of document `number`, and its questions."""
    random.seed(number)
    book = ["frankenstein", "the-moonstone", "the-war-of-the-worlds", "villette"][number % 4]
    texts = paragraphs(book, 20 + 45 * number, 24)
    facts = [FACTS[(number + i) % len(FACTS)] for i in range(5)]
    blocks, questions = [("title", f"Report {number + 1} on the harbour")], []
    for part in range(5):
        place, keeper = facts[part]
        blocks.append(("heading", f"{part + 1}. On {place}"))
        own = texts[part * len(texts) // 5:(part + 1) * len(texts) // 5]
        for i, text in enumerate(own):
            if i == len(own) // 2:
                text += f" The keeper of {place} in that year was {keeper}, as the books of the town show."
            blocks.append(("text", text))
        questions.append((f"Who was the keeper of {place}?", keeper))
        if part == 1:
            blocks.append(("list", ["a coil of tarred rope, twelve fathoms long", "two lanterns with green glass",
                                    "the great iron key of the water gate, which is to be handed to nobody but the keeper himself"]))
        if part == 3:
            blocks.append(("table", [["Goods", "Weight", "Duty"], ["Salt", "340 lb", "2s 6d"], ["Tar", "96 lb", "11d"],
                                     ["Dried cod", "1,204 lb", "14s"]]))
    return blocks, questions


def plain(blocks):
    parts = []
    for kind, content in blocks:
        if kind == "list":
            parts.append("\n".join("• " + item for item in content))
        elif kind == "table":
            parts.append("\n".join(" | ".join(row) for row in content))
        else:
            parts.append(content)
    return "\n\n".join(parts) + "\n"


def run(command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options).stdout


def groff(blocks, out, columns):
    def escaped(text):
        # An apostrophe stays one: groff would set a quotation mark, which is another text.
        return "\\&" + text.replace("\\", "\\e").replace("'", "\\(aq")
    lines = [".nr PS 10", ".nr VS 12", ".ds CH The Harbour Report", ".ds CF %"]
    for kind, content in blocks:
        if kind == "title":
            lines += [".TL", escaped(content)] + ([".2C"] if columns == 2 else [])
        elif kind == "heading":
            lines += [".SH", escaped(content)]
        elif kind == "text":
            lines += [".PP", escaped(content)]
        elif kind == "list":
            for item in content:
                lines += [".IP \\(bu 2", escaped(item)]
        else:
            lines += [".TS", "l l l.", *["\t".join(row) for row in content], ".TE"]
    source = "\n".join(lines) + "\n"
    out.write_bytes(run(["groff", "-k", "-t", "-ms", "-Tpdf"], input=source.encode()))


def latex(blocks, out, columns):
    special = {c: "\\" + c for c in "&%$#_{}"} | {"~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "\\": "\\textbackslash{}"}
    def escaped(text):
        return "".join(special.get(c, c) for c in text)
    body = []
    for kind, content in blocks:
        if kind == "title":
            body.append(f"\\title{{{escaped(content)}}}\\author{{}}\\date{{}}\\maketitle")
        elif kind == "heading":
            body.append(f"\\section*{{{escaped(content)}}}")
        elif kind == "text":
            body.append(escaped(content))
        elif kind == "list":
            body.append("\\begin{itemize}\n" + "\n".join("\\item " + escaped(i) for i in content) + "\n\\end{itemize}")
        else:
            rows = " \\\\\n".join(" & ".join(map(escaped, row)) for row in content)
            body.append("\\begin{center}\\begin{tabular}{lll}\n" + rows + "\n\\end{tabular}\\end{center}")
    option = "twocolumn" if columns == 2 else "11pt"
    source = (f"\\documentclass[{option}]{{article}}\\usepackage[utf8]{{inputenc}}\\usepackage[T1]{{fontenc}}"
              "\\pagestyle{headings}\\begin{document}\n" + "\n\n".join(body) + "\n\\end{document}\n")
    folder = out.parent / (out.stem + ".tex.d")
    folder.mkdir(exist_ok=True)
    (folder / "a.tex").write_text(source, encoding="utf-8")
    run(["pdflatex", "-interaction=batchmode", "a.tex"], cwd=folder)
    shutil.move(folder / "a.pdf", out)
    shutil.rmtree(folder)


def reportlab(blocks, out, columns):
    from reportlab.lib import colors
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
    from reportlab.platypus import BaseDocTemplate, Frame, ListFlowable, ListItem, PageTemplate, Paragraph, Table
    styles = getSampleStyleSheet()
    justified = ParagraphStyle("justified", parent=styles["BodyText"], alignment=4)
    story = []
    for kind, content in blocks:
        if kind == "list":
            story.append(ListFlowable([ListItem(Paragraph(html.escape(item), justified)) for item in content], bulletType="bullet"))
        elif kind == "table":
            story.append(Table(content, style=[("GRID", (0, 0), (-1, -1), 0.5, colors.black)]))
        else:
            style = {"title": styles["Title"], "heading": styles["Heading2"], "text": justified}[kind]
            story.append(Paragraph(html.escape(content), style))
    def edges(canvas, page):
        canvas.setFont("Helvetica", 9)
        canvas.drawString(60, 800, "The Harbour Report")
        canvas.drawRightString(535, 800, "Town Archive")
        canvas.drawCentredString(297, 30, f"Page {page.page}")
    frames = [Frame(60, 60, 475, 720)] if columns == 1 else [Frame(60, 60, 232, 720), Frame(303, 60, 232, 720)]
    page = BaseDocTemplate(str(out), pagesize=A4)
    page.addPageTemplates([PageTemplate(frames=frames, onPage=edges)])
    page.build(story)


def libreoffice(blocks, out, columns):
    """Through a flat OpenDocument text with header, page numbers and hyphenation."""
    body = []
    for kind, content in blocks:
        if kind == "list":
            body.append("<text:list text:style-name='L'>" + "".join(
                f"<text:list-item><text:p text:style-name='B'>{html.escape(i)}</text:p></text:list-item>" for i in content) + "</text:list>")
        elif kind == "table":
            body.append("<table:table><table:table-column table:number-columns-repeated='3'/>" + "".join(
                "<table:table-row>" + "".join(f"<table:table-cell><text:p>{html.escape(c)}</text:p></table:table-cell>" for c in row)
                + "</table:table-row>" for row in content) + "</table:table>")
        else:
            style = {"title": "T", "heading": "H", "text": "B"}[kind]
            body.append(f"<text:p text:style-name='{style}'>{html.escape(content)}</text:p>")
    names = ("xmlns:office='urn:oasis:names:tc:opendocument:xmlns:office:1.0' xmlns:style='urn:oasis:names:tc:opendocument:xmlns:style:1.0' "
             "xmlns:text='urn:oasis:names:tc:opendocument:xmlns:text:1.0' xmlns:table='urn:oasis:names:tc:opendocument:xmlns:table:1.0' "
             "xmlns:fo='urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0'")
    paragraph = "fo:text-align='justify' fo:margin-bottom='0.2cm' fo:hyphenation-ladder-count='no-limit'"
    source = f"""<?xml version='1.0' encoding='UTF-8'?>
<office:document {names} office:version='1.2' office:mimetype='application/vnd.oasis.opendocument.text'>
<office:automatic-styles>
<style:style style:name='T' style:family='paragraph'><style:text-properties fo:font-size='20pt' fo:font-weight='bold'/></style:style>
<style:style style:name='H' style:family='paragraph'><style:paragraph-properties fo:margin-top='0.4cm' fo:margin-bottom='0.2cm'/>
<style:text-properties fo:font-size='14pt' fo:font-weight='bold'/></style:style>
<style:style style:name='B' style:family='paragraph'><style:paragraph-properties {paragraph}/>
<style:text-properties fo:font-size='11pt' fo:hyphenate='true' fo:language='en' fo:country='US'/></style:style>
<text:list-style style:name='L'><text:list-level-style-bullet text:level='1' text:bullet-char='•'>
<style:list-level-properties text:space-before='0.3cm' text:min-label-width='0.4cm'/></text:list-level-style-bullet></text:list-style>
<style:page-layout style:name='P'><style:page-layout-properties fo:page-width='21cm' fo:page-height='29.7cm' fo:margin='2cm'>
<style:columns fo:column-count='{columns}' fo:column-gap='0.7cm'/></style:page-layout-properties>
<style:header-style><style:header-footer-properties fo:min-height='1cm' fo:margin-bottom='0.5cm'/></style:header-style>
<style:footer-style><style:header-footer-properties fo:min-height='1cm' fo:margin-top='0.5cm'/></style:footer-style></style:page-layout>
</office:automatic-styles>
<office:master-styles><style:master-page style:name='Standard' style:page-layout-name='P'>
<style:header><text:p>The Harbour Report</text:p></style:header>
<style:footer><text:p>Page <text:page-number/></text:p></style:footer></style:master-page></office:master-styles>
<office:body><office:text>{''.join(body)}</office:text></office:body></office:document>"""
    page = out.with_suffix(".fodt")
    page.write_text(source.replace("'", '"'), encoding="utf-8")
    run(["soffice", "--headless", "--convert-to", "pdf", "--outdir", str(out.parent), str(page)])
    page.unlink()


DOCUMENTS = [("groff", groff, 1), ("groff", groff, 2), ("latex", latex, 1), ("latex", latex, 2), ("reportlab", reportlab, 1),
             ("reportlab", reportlab, 2), ("libreoffice", libreoffice, 1), ("libreoffice", libreoffice, 2),
             ("groff", groff, 2), ("latex", latex, 2)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longhaul", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("-m", "--model", default="nano")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    program = [options.longhaul]
    cases = []
    print("| document | columns | tokens of the text | tokens of the PDF | difference |\n|---|---|---|---|---|")
    worst = 0
    for number, (name, make, columns) in enumerate(DOCUMENTS):
        blocks, questions = document(number)
        pdf = options.out / f"{number + 1:02}-{name}-{columns}.pdf"
        text = pdf.with_suffix(".txt")
        text.write_text(plain(blocks), encoding="utf-8")
        try:
            if not pdf.exists():
                make(blocks, pdf, columns)
        except (OSError, ImportError, subprocess.CalledProcessError) as error:
            print(f"left out: {pdf.name}: {error}", file=sys.stderr)
            continue
        counts = [int(run([*program, "tokenize", "-m", options.model, "-f", str(file), "--count"]).split()[0]) for file in (text, pdf)]
        change = counts[1] / counts[0] - 1
        worst = max(worst, abs(change))
        print(f"| {name} | {columns} | {counts[0]:,} | {counts[1]:,} | {100 * change:+.1f} % |")
        read = {"text": plain(blocks), "pdf": run([*program, "tokenize", "--text", "-f", str(pdf)]).decode()}
        for kind, content in read.items():
            for place, (question, answer) in enumerate(questions):
                cases.append({"id": f"{kind}-{number + 1}-{place + 1}", "group": kind, "context": content,
                              "question": question, "answers": answer, "max_tokens": 40})
    (options.out / "answers.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    print(f"\nlargest difference: {100 * worst:.1f} %")


if __name__ == "__main__":
    main()
