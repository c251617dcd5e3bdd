// The server: memory, documents, waiting requests, texts that were read again, warnings.

import * as api from './api.js';
import { bytes, clear, count, countOf, el, iconButton } from './dom.js';
import { factsOf, removeDocument } from './documents.js';
import { state } from './state.js';

/** Prometheus text: sums by name, and values by "name{labels}". */
export function readMetrics(text) {
  const all = new Map();
  for (const line of text.split('\n')) {
    const found = line.match(/^([a-z_:]+)(\{.*\})?\s+([-+.\deE]+)$/i);
    if (!found) continue;
    const value = Number(found[3]);
    all.set(found[1] + (found[2] || ''), value);
    if (found[2]) all.set(found[1], (all.get(found[1]) || 0) + value);
  }
  return all;
}

function memoryBar(metrics) {
  const limit = metrics.get('longhaul_kv_limit_bytes') || 0;
  const parts = ['live', 'cached', 'reserved'].map((name) => ({ name, value: metrics.get(`longhaul_kv_bytes{state="${name}"}`) || 0 }));
  if (!limit) return null;
  const words = { live: 'in use', cached: 'kept for later questions', reserved: 'reserved' };
  const used = parts.reduce((sum, part) => sum + part.value, 0);
  const bar = el('div', { class: 'memory-bar', role: 'img', 'aria-label': `Memory: ${bytes(used)} of ${bytes(limit)}` },
    parts.map((part) => {
      const piece = el('span', { class: `memory-${part.name}` });
      piece.style.width = `${Math.min(100, 100 * part.value / limit)}%`;
      return piece;
    }));
  return el('section', { class: 'sheet' }, el('h2', {}, 'Memory for keys and values'), bar,
    el('ul', { class: 'legend' }, parts.map((part) => el('li', { class: `memory-${part.name}` }, `${bytes(part.value)} ${words[part.name]}`)), el('li', {}, `${bytes(limit)} in all`)));
}

function numbers(metrics) {
  const rows = [
    ['Running requests', metrics.get('longhaul_running')], ['Waiting requests', metrics.get('longhaul_waiting')],
    ['Tokens read', metrics.get('longhaul_prompt_tokens_total{source="read"}')], ['Tokens reused', metrics.get('longhaul_prompt_tokens_total{source="memory"}')],
    ['Tokens of replies', metrics.get('longhaul_reply_tokens_total')],
  ].filter(([, value]) => value !== undefined);
  return el('section', { class: 'sheet' }, el('h2', {}, 'Requests'),
    el('dl', { class: 'numbers' }, rows.map(([name, value]) => [el('dt', {}, name), el('dd', {}, count(value))])));
}

function documentTable() {
  const all = [...state.documents.values()];
  if (!all.length) return el('section', { class: 'sheet' }, el('h2', {}, 'Documents'), el('p', { class: 'note' }, 'None.'));
  return el('section', { class: 'sheet' }, el('h2', {}, 'Documents'), el('ul', { class: 'rows' }, all.map((one) => el('li', {},
    el('a', { href: `#/d/${one.id}`, dir: 'auto' }, one.name), el('span', { class: 'note' }, `${one.status}${one.persist ? ', kept on disk' : ''} · ${factsOf(one)}`),
    iconButton('bin', `Delete ${one.name}`, () => removeDocument(one))))));
}

/** "read 61,204 tokens again: system message, …" */
export function missText(miss) {
  const again = Math.max(0, (miss.reusable || 0) - (miss.reused || 0));
  const why = { text: 'the text differs', method: 'this method cannot continue there', evicted: 'it had been dropped from the memory',
    settings: 'other settings', tools: 'the tools changed', other_key: 'it belongs to another key', first: 'it was new' }[miss.why || miss.reason] || miss.why || '';
  const parts = [`${countOf(again, 'token')} read again${why ? `: ${why}` : ''}`];
  if (miss.request_text) parts.push(`“${miss.request_text}” was “${miss.cached_text}”`);
  return parts.join(' · ');
}

function log(title, entries, textOf, none) {
  return el('section', { class: 'sheet' }, el('h2', {}, title), entries.length ? el('ul', { class: 'rows' }, entries.slice(0, 50).map((entry) => el('li', {},
    el('time', { class: 'note' }, new Date(entry.at).toLocaleTimeString()), el('span', {}, textOf(entry))))) : el('p', { class: 'note' }, none));
}

let timer = 0;

/** Draws the view, and again every three seconds while it is shown. */
export async function showServer(main) {
  clearTimeout(timer);
  let metrics = new Map();
  try { metrics = readMetrics(await api.getText('metrics')); } catch { /* shown as empty */ }
  if (location.hash !== '#/server') return;
  const props = state.props || {};
  const own = props.longhaul || {};
  const about = [props.model_alias, own.attention && `${own.attention} attention`, own.kv_type && `${own.kv_type} keys and values`, own.kernels,
    own.trained_context && `trained for ${countOf(own.trained_context, 'token')}`, own.sandbox && `sandbox ${own.sandbox}`].filter(Boolean).join(' · ');
  clear(main).append(el('div', { class: 'column' }, el('h1', {}, 'Server'), el('p', { class: 'facts' }, about), memoryBar(metrics), numbers(metrics), documentTable(),
    log('Read again', state.misses, missText, 'Since this page was opened, no text was read again that could have been reused.'),
    log('Warnings', state.warnings, (entry) => entry.text, 'None since this page was opened.')));
  const again = () => {
    if (location.hash !== '#/server') return;
    const busy = document.hidden || (main !== document.activeElement && main.contains(document.activeElement));
    if (busy) timer = setTimeout(again, 1000);  // nobody looks, or somebody is about to press a button
    else showServer(main);
  };
  timer = setTimeout(again, 3000);
}
