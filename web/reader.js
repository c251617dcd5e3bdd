// The text of a document: pages, search, the passages of all answers, and the strip of the whole text.

import { get } from './api.js';
import { clear, count, eachFrame, el, icon, iconButton, ICONS, say } from './dom.js';
import { loadMap, mapPanel, textBins } from './retention_map.js';
import { indexer, placeOf } from './sources.js';
import { on, state } from './state.js';
import { Strip } from './strip.js';
import { TextView } from './text_view.js';

const MOST_HITS = 5000;
const panel = document.getElementById('reader');
const opener = document.getElementById('show-text');

let shown = null;   // {id, text, pages, index, view, strip, ...} of the open document
let marks = [];     // passages of the answers
let active = null;  // the passage that was clicked
let hits = [];
let hit = -1;

const inUnits = (range, kind) => ({ from: shown.index(range.from), to: shown.index(range.to), kind });

function refreshMarks() {
  if (!shown) return;
  const own = marks.filter((mark) => mark.document === shown.id).map((mark) => inUnits(mark, 'seen'));
  if (active) own.push(inUnits(active, 'active'));
  const found = hits.map((range, i) => ({ ...range, kind: i === hit ? 'hit current' : 'hit' }));
  shown.view.setMarks([...own, ...found]);
  shown.strip.marks = [...found.map((m) => ({ ...m, kind: 'hit' })), ...own].map((m) => ({ ...m, from: m.from / shown.text.length, to: m.to / shown.text.length }));
  shown.strip.draw();
}

function pageAt(offset) {
  const pages = shown.pages;
  if (!pages.length) return null;
  let at = 0;
  while (at + 1 < pages.length && pages[at + 1].begin <= offset) ++at;
  return pages[at].page;
}

const moved = eachFrame(() => {
  if (!shown) return;
  const from = shown.view.topOffset();
  const length = Math.max(1, shown.text.length);
  shown.strip.show({ from: from / length, to: shown.view.bottomOffset() / length });
  const page = pageAt(from + 1);
  if (shown.page && document.activeElement !== shown.page && page !== null) shown.page.value = page;
});

function search(word) {
  hits = [];
  hit = -1;
  if (word.trim().length > 1) {
    const pattern = new RegExp(word.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/\s+/g, '\\s+'), 'giu');
    for (const found of shown.text.matchAll(pattern)) {
      hits.push({ from: found.index, to: found.index + found[0].length });
      if (hits.length >= MOST_HITS) break;
    }
    if (hits.length) return step(1, shown.view.topOffset());
  }
  shown.found.textContent = word.trim().length > 1 ? 'none' : '';
  refreshMarks();
}

function step(by, from = null) {
  if (!hits.length) return;
  hit = from === null ? (hit + by + hits.length) % hits.length : Math.max(0, hits.findIndex((range) => range.from >= from));
  shown.found.textContent = `${count(hit + 1)} of ${count(hits.length)}${hits.length >= MOST_HITS ? '+' : ''}`;
  refreshMarks();
  shown.view.scrollTo(hits[hit].from);
}

function searchField() {
  const field = el('input', { type: 'search', placeholder: 'Search', 'aria-label': 'Search in the text', class: 'search' });
  let timer = 0;
  field.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(() => search(field.value), 150); });
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') { event.preventDefault(); step(event.shiftKey ? -1 : 1); }
  });
  return field;
}

function head(document_) {
  shown.found = el('span', { class: 'found', role: 'status' });
  const pages = shown.pages.length;
  if (pages) {
    shown.page = el('input', { type: 'number', min: 1, max: shown.pages.at(-1).page, value: 1, 'aria-label': 'Page', class: 'page' });
    shown.page.addEventListener('change', () => {
      const page = shown.pages.find((one) => one.page >= Number(shown.page.value));
      if (page) shown.view.scrollTo(page.begin, 0);
    });
  }
  return el('div', { class: 'reader-head' },
    el('div', { class: 'reader-title' }, el('h2', {}, document_?.name || 'Text'), iconButton('close', 'Close the text', close)),
    el('div', { class: 'reader-tools' }, searchField(), shown.found,
      pages ? el('label', { class: 'pages' }, 'Page', shown.page, `of ${count(shown.pages.at(-1).page)}`) : null,
      el('button', { class: 'button small', type: 'button', 'aria-expanded': 'false', on: { click: toggleMap } }, icon(ICONS.map), 'Kept tokens')));
}

async function toggleMap(event) {
  const there = panel.querySelector('.map');
  event.currentTarget.setAttribute('aria-expanded', String(!there));
  if (there) { there.remove(); shown.strip.kept = null; return shown.strip.draw(); }
  const map = await loadMap(shown.id);
  panel.querySelector('.reader-head').append(mapPanel(map, jumpTo));
  shown.strip.kept = map && map.share < 0.9995 ? textBins(map) : null;
  shown.strip.draw();
}

const jumpTo = (share) => shown.view.scrollTo(Math.round(share * shown.text.length), 0);

function passageLine() {
  panel.querySelector('.passage-line')?.remove();
  if (!active) return;
  panel.querySelector('.reader-head').append(el('p', { class: 'passage-line' }, placeOf(active)));
}

async function loadText(id) {
  const found = await get(`v1/documents/${id}/text`);
  const index = indexer(found.text);
  return { id, text: found.text, index, pages: (found.pages || []).map((page) => ({ ...page, begin: index(page.from) })) };
}

/** Opens a document, at a passage if one is given. */
export async function open({ document: id, passage = null, marks: more = [] }) {
  if (shown?.id !== id || panel.hidden) {
    close(true);
    panel.hidden = false;
    document.body.classList.add('reading');
    opener.setAttribute('aria-expanded', 'true');
    clear(panel).append(el('p', { class: 'note loading' }, 'Loading the text …'));
    try {
      shown = await loadText(id);
    } catch (error) {
      clear(panel).append(el('div', { class: 'reader-title' }, el('h2', {}, 'Text'), iconButton('close', 'Close the text', close)),
        el('p', { class: 'note' }, error.code === 'document_not_found' ? 'The document is no longer on the server.' : error.message));
      return;
    }
    hits = [];
    const scroller = el('div', { class: 'text', tabindex: 0, role: 'document', 'aria-label': 'Text' });
    shown.strip = new Strip(jumpTo);
    clear(panel).append(head(state.documents.get(id)), el('div', { class: 'reader-body' }, scroller, shown.strip.node));
    shown.view = new TextView(scroller, shown.text, moved);
  }
  if (more.length) marks = more;
  active = passage;
  passageLine();
  refreshMarks();
  if (passage) {
    shown.view.scrollTo(shown.index(passage.from));
    say(`Passage: ${placeOf(passage)}. ${passage.text || ''}`);
  } else {
    shown.view.render();
    moved();
  }
  panel.querySelector('.text').focus({ preventScroll: true });
}

export function close(silently = false) {
  shown?.view?.close();
  shown = null;
  active = null;
  panel.hidden = true;
  document.body.classList.remove('reading');
  opener.setAttribute('aria-expanded', 'false');
  if (silently !== true && !opener.hidden) opener.focus();
}

/** The passages of the answers that are on the screen. */
export function setMarks(all) { marks = all; refreshMarks(); }

on('open', open);
panel.addEventListener('keydown', (event) => { if (event.key === 'Escape') close(); });
opener.addEventListener('click', () => {
  if (!panel.hidden) return close();
  const id = state.current?.documents[0];
  if (id) open({ document: id });
});
on('current', () => {
  const id = state.current?.documents[0];
  opener.hidden = !id;
  if (shown && shown.id !== id) close(true);
});
