// Where an answer comes from: a number behind each sentence, the passages that it draws on, and the way to them.

import { clear, count, el, icon, ICONS, percent } from './dom.js';
import { emit, state } from './state.js';

/** Maps code points, in which the server counts, to indices of a JavaScript string. */
export function indexer(text) {
  if (!/[\ud800-\udbff]/.test(text)) return (point) => point;
  const wide = [];  // code points that take two units
  let point = 0;
  for (const letter of text) { if (letter.length === 2) wide.push(point); ++point; }
  return (at) => {
    let low = 0;
    let high = wide.length;
    while (low < high) { const middle = (low + high) >> 1; if (wide[middle] < at) low = middle + 1; else high = middle; }
    return at + low;
  };
}

const same = (a, b) => a.document === b.document && a.message === b.message && a.from === b.from;

/** The different passages of an answer, in the order of its sentences. */
export function passagesOf(message) {
  const all = [];
  const lists = [...(message.sentences || []).map((sentence) => sentence.sources.slice(0, 3)), (message.sources || []).slice(0, 3)];
  for (const source of lists.flat()) if (!all.some((other) => same(other, source))) all.push(source);
  return all;
}

/** "report.pdf, page 41, 62 % into the text"; without the name where there is only one document. */
export function placeOf(source, named = (state.current?.documents.length || 0) > 1) {
  const document_ = state.documents.get(source.document);
  const parts = [];
  if (!source.document) parts.push('this conversation');
  else if (named) parts.push(source.name || document_?.name || 'the document');
  if (source.page) parts.push(`page ${source.page}`);
  if (document_?.characters) parts.push(`${Math.round(100 * source.from / document_.characters)} % into the text`);
  const place = parts.join(', ');
  return place ? place[0].toUpperCase() + place.slice(1) : 'In the text';
}

export function openSource(source, message) {
  hideCard();
  if (source.document) emit('open', { document: source.document, passage: source, marks: passagesOf(message), map: false });
  else if (source.message !== undefined) emit('show-message', source);
}

// ---- the card that a number shows

let card = null;
let hiding = 0;

export function hideCard() {
  clearTimeout(hiding);
  card?.remove();
  card = null;
}

function hideSoon() { clearTimeout(hiding); hiding = setTimeout(hideCard, 250); }

function passageButton(source, message) {
  return el('button', { class: 'passage', type: 'button', on: { click: () => openSource(source, message) } },
    el('span', { class: 'quote', dir: 'auto' }, source.text || ''),
    el('span', { class: 'place' }, placeOf(source), el('span', { class: 'share', title: 'share of the attention on the text' },
      percent(source.share))));
}

function showCard(anchor, message, sources) {
  hideCard();
  card = el('div', { class: 'card', on: { mouseenter: () => clearTimeout(hiding), mouseleave: hideSoon } },
    sources.map((source) => passageButton(source, message)));
  document.body.append(card);
  const at = anchor.getBoundingClientRect();
  const width = Math.min(380, innerWidth - 24);
  card.style.width = `${width}px`;
  card.style.left = `${Math.max(12, Math.min(at.left - 40, innerWidth - width - 12))}px`;
  const below = at.bottom + 8 + card.offsetHeight < innerHeight;
  card.style.top = `${(below ? at.bottom + 8 : Math.max(8, at.top - card.offsetHeight - 8))}px`;
}

addEventListener('keydown', (event) => { if (event.key === 'Escape') hideCard(); });
addEventListener('scroll', hideCard, { capture: true, passive: true });

/** A number behind a sentence. */
function numberOf(message, sentence, number) {
  const sources = sentence.sources.slice(0, 3);
  const show = (event) => showCard(event.currentTarget, message, sources);
  return el('button', {
    class: 'cite', type: 'button', 'aria-label': `Passage of sentence ${number}: ${placeOf(sources[0])}`,
    on: { mouseenter: show, focus: show, mouseleave: hideSoon, blur: hideSoon, click: () => openSource(sources[0], message) },
  }, String(number));
}

/** Marks for markdown.render(): a number at the end of each sentence that has a passage. */
export function marksOf(message) {
  const at = indexer(message.text);
  const marks = [];
  let number = 0;
  for (const sentence of message.sentences || []) {
    if (!sentence.sources?.length) continue;
    marks.push({ at: at(sentence.to), node: numberOf(message, sentence, ++number) });
  }
  return marks;
}

/** All passages of an answer, closed at first. */
export function passageList(message) {
  const all = passagesOf(message);
  if (!all.length) return null;
  const note = message.restsOnPassage === false
    ? 'The model looked at many places: this answer does not rest on a single passage.'
    : 'Passages show where the model looked. They do not prove that a sentence is true.';
  const details = el('details', { class: 'passages' },
    el('summary', {}, icon(ICONS.page), all.length === 1 ? '1 passage' : `${count(all.length)} passages`),
    el('div', { class: 'passage-list' }));
  details.addEventListener('toggle', () => {
    const list = clear(details.lastChild);
    if (details.open) list.append(...all.map((source) => passageButton(source, message)), el('p', { class: 'note' }, note));
  });
  return details;
}
