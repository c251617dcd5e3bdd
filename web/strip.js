// The whole text as a narrow strip: passages, hits of the search, which tokens are kept, and what is visible.

import { eachFrame, el } from './dom.js';

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class Strip {
  /** `jump(share)`: shows that part of the text. */
  constructor(jump) {
    this.jump = jump;
    this.marks = [];
    this.kept = null;   // share of the keys that are kept, by bin
    this.visible = { from: 0, to: 0 };
    this.canvas = el('canvas', { 'aria-hidden': true });
    this.node = el('div', {
      class: 'strip', role: 'slider', tabindex: 0, 'aria-label': 'Place in the text', 'aria-orientation': 'vertical',
      'aria-valuemin': 0, 'aria-valuemax': 100,
    }, this.canvas);
    this.draw = eachFrame(() => this.paint());
    this.node.addEventListener('pointerdown', (event) => { this.node.setPointerCapture(event.pointerId); this.point(event); });
    this.node.addEventListener('pointermove', (event) => { if (event.buttons) this.point(event); });
    this.node.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(this.draw).observe(this.node);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', this.draw);
  }

  point(event) {
    const box = this.node.getBoundingClientRect();
    this.jump(Math.min(1, Math.max(0, (event.clientY - box.top) / box.height)));
  }

  key(event) {
    const step = { ArrowDown: 0.01, ArrowUp: -0.01, PageDown: 0.1, PageUp: -0.1, Home: -1, End: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    this.jump(Math.min(1, Math.max(0, this.visible.from + step)));
  }

  show(visible) {
    this.visible = visible;
    this.node.setAttribute('aria-valuenow', Math.round(visible.from * 100));
    this.node.setAttribute('aria-valuetext', `${Math.round(visible.from * 100)} % into the text`);
    this.draw();
  }

  paint() {
    const ratio = devicePixelRatio || 1;
    const width = this.node.clientWidth;
    const height = this.node.clientHeight;
    if (!width || !height) return;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    const context = this.canvas.getContext('2d');
    context.scale(ratio, ratio);
    if (this.kept) {
      context.fillStyle = colour('--kept');
      const step = height / this.kept.length;
      this.kept.forEach((share, i) => { context.globalAlpha = 0.04 + 0.46 * share; context.fillRect(0, i * step, width, step + 0.5); });
      context.globalAlpha = 1;
    }
    for (const { from, to, kind } of this.marks) {
      context.fillStyle = colour(kind === 'hit' ? '--hit-strong' : '--mark-strong');
      context.globalAlpha = kind === 'seen' ? 0.6 : 1;
      const tall = Math.max(kind === 'hit' ? 1.5 : 3, (to - from) * height);
      context.fillRect(kind === 'hit' ? width - 8 : 2, Math.min(from * height, height - tall), kind === 'hit' ? 6 : width - 4, tall);
    }
    context.globalAlpha = 1;
    const top = this.visible.from * height;
    const tall = Math.max(6, (this.visible.to - this.visible.from) * height);
    context.strokeStyle = colour('--accent');
    context.lineWidth = 1.5;
    context.strokeRect(1, Math.min(top, height - tall) + 0.75, width - 2, tall - 1.5);
  }
}
