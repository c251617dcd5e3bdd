// Replies as elements: paragraphs, lists, headings, code. Made from the text by createElement alone, so a reply can
// contain no markup of the page. Marks (numbers of sentences, differences) are placed by their position in the text.

import { el } from './dom.js';

const INLINE = /(`+)(.+?)\1|\*\*(\S(?:.*?\S)?)\*\*|\*(\S(?:.*?\S)?)\*/g;
const LIST = /^(\s*)([-*+•]|\d{1,3}[.)])\s+/;

class Writer {
  /** `marks`: [{at, node}] in order; `ranges`: [{from, to}] in order, to be highlighted. */
  constructor(text, marks, ranges) {
    this.source = text;
    this.marks = marks;
    this.ranges = ranges;
    this.nextMark = 0;
  }

  /** Appends the text [from, to) with what belongs into it. */
  text(parent, from, to) {
    while (this.nextMark < this.marks.length && this.marks[this.nextMark].at <= to) {
      const mark = this.marks[this.nextMark++];
      const word = Math.max(from, this.source.lastIndexOf(' ', mark.at - 1) + 1, mark.at - 30);
      if (mark.at <= from) { parent.append(mark.node); continue; }
      this.plain(parent, from, word);
      const together = el('span', { class: 'together' });  // no line break before the mark
      this.plain(together, word, mark.at);
      together.append(mark.node);
      parent.append(together);
      from = mark.at;
    }
    this.plain(parent, from, to);
  }

  plain(parent, from, to) {
    for (const range of this.ranges) {
      if (range.to <= from || range.from >= to) continue;
      if (range.from > from) parent.append(this.source.slice(from, range.from));
      const begin = Math.max(from, range.from);
      const end = Math.min(to, range.to);
      parent.append(el('mark', { class: 'differs' }, this.source.slice(begin, end)));
      from = end;
    }
    if (to > from) parent.append(this.source.slice(from, to));
  }

  /** Marks up to a place that has no text of its own, such as the end of a code block. */
  flush(parent, upTo) {
    while (this.nextMark < this.marks.length && this.marks[this.nextMark].at <= upTo) parent.append(this.marks[this.nextMark++].node);
  }

  /** A line with code, bold and italic words. */
  line(parent, from, to) {
    const part = this.source.slice(from, to);
    let at = 0;
    for (const found of part.matchAll(INLINE)) {
      this.text(parent, from + at, from + found.index);
      const inner = found[2] ?? found[3] ?? found[4];
      const begin = from + found.index + found[0].indexOf(inner, 1);
      const node = el(found[2] ? 'code' : found[3] ? 'strong' : 'em');
      this.text(node, begin, begin + inner.length);
      parent.append(node);
      at = found.index + found[0].length;
    }
    this.text(parent, from + at, to);
  }
}

function linesOf(text) {
  const lines = [];
  for (let from = 0; from <= text.length;) {
    const end = text.indexOf('\n', from);
    const to = end < 0 ? text.length : end;
    lines.push({ from, to, text: text.slice(from, to) });
    from = to + 1;
  }
  return lines;
}

function codeBlock(writer, lines, i, out) {
  const fence = lines[i].text.trim().match(/^(`{3,}|~{3,})/)[1];
  const code = el('code');
  let end = i + 1;
  for (; end < lines.length && lines[end].text.trim() !== fence; ++end) {
    writer.text(code, lines[end].from, lines[end].to);
    code.append('\n');
  }
  out.append(el('pre', { tabindex: 0 }, code));
  return Math.min(end + 1, lines.length);
}

function list(writer, lines, i, out) {
  const ordered = /\d/.test(lines[i].text.match(LIST)[2]);
  const node = el(ordered ? 'ol' : 'ul');
  if (ordered) node.start = Number.parseInt(lines[i].text.match(LIST)[2], 10);
  for (; i < lines.length; ++i) {
    const found = lines[i].text.match(LIST);
    if (!found || /\d/.test(found[2]) !== ordered) break;
    const item = el('li', { class: found[1].length > 1 && 'deeper' });
    writer.line(item, lines[i].from + found[0].length, lines[i].to);
    node.append(item);
  }
  out.append(node);
  return i;
}

function paragraph(writer, lines, i, out) {
  const node = el('p', { dir: 'auto' });
  for (let first = true; i < lines.length && lines[i].text.trim() && !LIST.test(lines[i].text)
    && !/^\s*(`{3}|~{3}|#{1,6} |> )/.test(lines[i].text); ++i, first = false) {
    if (!first) node.append(el('br'));
    writer.line(node, lines[i].from, lines[i].to);
  }
  out.append(node);
  return i;
}

/** The reply as a fragment. */
export function render(text, marks = [], ranges = []) {
  const out = document.createDocumentFragment();
  const writer = new Writer(text, marks, ranges);
  const lines = linesOf(text);
  for (let i = 0; i < lines.length;) {
    const { from, to, text: line } = lines[i];
    const heading = line.match(/^(#{1,6})\s+/);
    const quote = line.match(/^\s*>\s?/);
    if (!line.trim()) {
      ++i;
    } else if (/^\s*(`{3,}|~{3,})/.test(line)) {
      i = codeBlock(writer, lines, i, out);
    } else if (heading || quote) {
      const node = el(heading ? 'h4' : 'blockquote', { dir: 'auto' });
      writer.line(node, from + (heading || quote)[0].length, to);
      out.append(node);
      ++i;
    } else if (LIST.test(line)) {
      i = list(writer, lines, i, out);
    } else {
      i = paragraph(writer, lines, i, out);
    }
    if (out.lastChild && i <= lines.length) writer.flush(out.lastChild, i < lines.length ? lines[i].from - 1 : text.length);
  }
  writer.flush(out, text.length);
  return out;
}
