// A long text of which only the visible part is in the page. The text is cut into blocks (paragraphs); their heights
// are estimated, and measured once they are seen.

import { clear, eachFrame, el } from './dom.js';

const LONGEST = 3000;   // characters of a block, if a line is that long
const BEYOND = 700;     // pixels that are drawn above and below what is visible
const PAGE_LINE = /^\[page \d+\]$/;

/** Where blocks begin: after blank lines, around page lines, and inside very long paragraphs. */
export function blocksOf(text) {
  const starts = [0];
  const cut = (at) => { if (at > starts.at(-1) && at < text.length) starts.push(at); };
  let blank = false;
  for (let from = 0; from < text.length;) {
    const end = text.indexOf('\n', from);
    const to = end < 0 ? text.length : end;
    const empty = to - from < 200 && text.slice(from, to).trim() === '';
    const page = text.charCodeAt(from) === 91 && to - from < 20 && PAGE_LINE.test(text.slice(from, to));
    if ((blank && !empty) || page || from - starts.at(-1) > LONGEST / 2) cut(from);
    for (let at = starts.at(-1); to - at > LONGEST;) {  // a line without end
      const space = text.lastIndexOf(' ', at + LONGEST);
      at = space > at ? space + 1 : at + LONGEST - (/[\udc00-\udfff]/.test(text[at + LONGEST]) ? 1 : 0);
      cut(at);
    }
    if (page) cut(to + 1);
    blank = empty;
    from = to + 1;
  }
  return Uint32Array.from(starts);
}

/** Whether the line breaks of a paragraph are those of a page of a fixed width, which a window need not keep. */
function isProse(text) {
  const lines = text.trimEnd().split('\n');
  if (lines.length < 2) return false;
  return lines.slice(0, -1).every((line) => line.length > 45 && line.length < 110 && !/^\s|\s{3}|[|\t]/.test(line));
}

export class TextView {
  /** Draws into `scroller`. `moved`: called when another part becomes visible. */
  constructor(scroller, text, moved) {
    this.scroller = scroller;
    this.text = text;
    this.starts = blocksOf(text);
    this.tops = new Float64Array(this.starts.length + 1);
    this.heights = new Float32Array(this.starts.length);
    this.nodes = new Map();
    this.marks = [];
    this.window = el('div', { class: 'window' });
    this.space = el('div', { class: 'space' }, this.window);
    clear(scroller).append(this.space);
    this.moved = moved;
    this.draw = eachFrame(() => { this.render(); this.moved(); });
    scroller.addEventListener('scroll', this.draw, { passive: true });
    this.resizes = new ResizeObserver(() => { if (scroller.clientWidth !== this.width) { this.estimate(); this.draw(); } });
    this.resizes.observe(scroller);
    this.estimate();
  }

  close() {
    this.resizes.disconnect();
    this.scroller.removeEventListener('scroll', this.draw);
    clear(this.scroller);
  }

  endOf(block) { return block + 1 < this.starts.length ? this.starts[block + 1] : this.text.length; }

  estimate() {
    const at = this.nodes.size ? this.topOffset() : 0;
    this.width = this.scroller.clientWidth;
    const style = getComputedStyle(this.window);
    const size = Number.parseFloat(style.fontSize);
    const line = Number.parseFloat(style.lineHeight) || size * 1.6;
    const perLine = Math.max(16, Math.min(this.width - 40, 720) / (size * 0.46));
    for (let i = 0; i < this.heights.length; ++i) {
      this.heights[i] = Math.ceil((this.endOf(i) - this.starts[i]) / perLine) * line + size * 0.8;
    }
    this.nodes.clear();
    clear(this.window);
    this.sum(0);
    if (at) this.scrollTo(at, 0);
  }

  sum(from) {
    for (let i = from; i < this.heights.length; ++i) this.tops[i + 1] = this.tops[i] + this.heights[i];
    this.space.style.height = `${this.tops[this.heights.length]}px`;
  }

  /** The last i with list[i] <= value. */
  static at(list, value, size = list.length) {
    let low = 0;
    let high = size - 1;
    while (low < high) { const middle = (low + high + 1) >> 1; if (list[middle] <= value) low = middle; else high = middle - 1; }
    return low;
  }
  blockAt(offset) { return TextView.at(this.starts, offset); }
  blockAtPixel(y) { return TextView.at(this.tops, Math.max(0, y), this.starts.length); }

  topOffset() {
    const y = this.scroller.scrollTop;
    const block = this.blockAtPixel(y);
    const share = Math.min(1, Math.max(0, (y - this.tops[block]) / this.heights[block]));
    return Math.round(this.starts[block] + share * (this.endOf(block) - this.starts[block]));
  }
  bottomOffset() { return this.endOf(this.blockAtPixel(this.scroller.scrollTop + this.scroller.clientHeight)); }

  render() {
    const top = this.scroller.scrollTop;
    const first = this.blockAtPixel(top - BEYOND);
    const last = this.blockAtPixel(top + this.scroller.clientHeight + BEYOND);
    for (const [i, node] of this.nodes) if (i < first || i > last) { node.remove(); this.nodes.delete(i); }
    let next = this.window.firstChild;
    for (let i = first; i <= last; ++i) {
      let node = this.nodes.get(i);
      if (!node) {
        node = this.block(i);
        this.nodes.set(i, node);
        this.window.insertBefore(node, next);
      }
      next = node.nextSibling;
    }
    this.measure(first, last, top);
    this.window.style.transform = `translateY(${this.tops[first]}px)`;
  }

  /** Takes the real heights; what is visible does not move. */
  measure(first, last, top) {
    const anchor = this.blockAtPixel(top);
    const before = this.tops[anchor];
    let changed = -1;
    for (let i = first; i <= last; ++i) {
      const height = this.nodes.get(i).getBoundingClientRect().height;
      if (Math.abs(height - this.heights[i]) < 0.5) continue;
      this.heights[i] = height;
      if (changed < 0) changed = i;
    }
    if (changed < 0) return;
    this.sum(changed);
    if (this.tops[anchor] !== before) this.scroller.scrollTop = top + this.tops[anchor] - before;
  }

  block(i) {
    const from = this.starts[i];
    const to = this.endOf(i);
    const text = this.text.slice(from, to);
    const page = PAGE_LINE.test(text.trim());
    const node = el('div', { class: `block${page ? ' page-line' : isProse(text) ? ' prose' : ''}`, dir: 'auto' });
    this.fill(node, from, to);
    return node;
  }

  /** Text with marks. Marks may overlap: every piece has the classes of all that cover it. */
  fill(node, from, to) {
    while (to > from && this.text[to - 1] === '\n') --to;
    const here = this.marks.filter((mark) => mark.from < to && mark.to > from);
    const cuts = [...new Set([from, to, ...here.flatMap((mark) => [mark.from, mark.to])])].filter((at) => at >= from && at <= to).sort((a, b) => a - b);
    const pieces = [];
    for (let i = 0; i + 1 < cuts.length; ++i) {
      const kinds = here.filter((mark) => mark.from <= cuts[i] && mark.to >= cuts[i + 1]).map((mark) => mark.kind);
      const text = this.text.slice(cuts[i], cuts[i + 1]);
      pieces.push(kinds.length ? el('mark', { class: [...new Set(kinds)].join(' ') }, text) : text);
    }
    node.replaceChildren(...pieces);
  }

  setMarks(marks) {
    this.marks = marks;
    for (const [i, node] of this.nodes) this.fill(node, this.starts[i], this.endOf(i));
  }

  /** Shows the character `offset` at a share of the height. */
  scrollTo(offset, share = 0.3) {
    const block = this.blockAt(Math.min(offset, Math.max(0, this.text.length - 1)));
    const wanted = share * this.scroller.clientHeight;
    this.scroller.scrollTop = Math.max(0, this.tops[block] - wanted);
    this.render();
    const box = this.rectOf(block, offset);
    if (box) this.scroller.scrollTop += box.top - this.scroller.getBoundingClientRect().top - wanted;
    this.render();
    this.moved();
  }

  rectOf(block, offset) {
    const node = this.nodes.get(block);
    if (!node) return null;
    let left = offset - this.starts[block];
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
      if (left < text.length) {
        const range = document.createRange();
        range.setStart(text, left);
        range.setEnd(text, Math.min(text.length, left + 1));
        return range.getBoundingClientRect();
      }
      left -= text.length;
    }
    return node.getBoundingClientRect();
  }
}
