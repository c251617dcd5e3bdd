// Documents of the server: the list, their progress, and the card above a conversation.

import * as api from './api.js';
import { bytes, count, countOf, el, icon, iconButton, ICONS, say, seconds } from './dom.js';
import { emit, on, state } from './state.js';

const followed = new Set();
const MOST_FOLLOWED = 2;  // a browser has six connections to a server; further documents wait for the next refresh
const BUSY = ['converting', 'queued', 'reading'];

/** Reads the list again, and follows documents that are being read. */
export async function refresh() {
  let list;
  try {
    list = (await api.get('v1/documents')).data;
  } catch (error) {
    if (error.status !== 404) return;
    list = [];  // a server without documents
  }
  state.documents = new Map(list.map((one) => [one.id, one]));
  for (const one of list) if (BUSY.includes(one.status)) follow(one.id);
  emit('documents');
}

async function follow(id) {
  if (followed.has(id) || followed.size >= MOST_FOLLOWED) return;
  followed.add(id);
  try {
    for await (const event of api.follow(`v1/documents/${id}?stream=true`)) {
      if (event.error && !event.id) break;
      state.documents.set(id, event);
      emit('document', event);
      if (event.status === 'ready') say(`${event.name} has been read.`);
    }
  } catch {
    await new Promise((done) => setTimeout(done, 3000));
  }
  followed.delete(id);
  refresh();
}

on('documents', () => { for (const one of state.documents.values()) if (BUSY.includes(one.status)) follow(one.id); });
on('documents-changed', refresh);

export async function removeDocument(one) {
  if (!confirm(`Delete “${one.name}” from the server? Conversations about it stay readable.`)) return;
  try { await api.remove(`v1/documents/${one.id}`); } catch { /* deleted elsewhere */ }
  await refresh();
}

/** "12 pages · 100,389 tokens · duo · 291 MB" */
export function factsOf(one) {
  const parts = [];
  if (one.pages) parts.push(countOf(one.pages, 'page'));
  if (one.tokens) parts.push(countOf(one.tokens, 'token'));
  if (one.attention) parts.push(one.attention);
  if (one.kv_bytes) parts.push(`${bytes(one.kv_bytes)} kept`);
  return parts.join(' · ');
}

function progressText(one) {
  if (one.status === 'converting') return 'Finding the text …';
  if (one.status === 'queued') return 'Waits until other work is done …';
  const { done, total, seconds_left: left, tokens_per_second: speed } = one.progress || {};
  const parts = [`${count(done || 0)} of ${count(total || 0)} tokens`];
  if (speed) parts.push(`${count(speed)} tokens/s`);
  if (left !== null && left !== undefined) parts.push(`about ${seconds(Math.max(1, left))} left`);
  return parts.join(' · ');
}

export function statusLine(one) {
  if (one.status === 'failed') return el('p', { class: 'advice bad', role: 'alert' }, one.error?.message || 'This document could not be read.');
  if (!BUSY.includes(one.status)) return null;
  const { done = 0, total = 0 } = one.progress || {};
  const bar = el('progress', { max: Math.max(1, total), 'aria-label': `Reading ${one.name}` });
  if (total) bar.value = done;
  return el('div', { class: 'progress' }, bar, el('p', { class: 'note' }, progressText(one)));
}

/** The card of a document above its conversation. */
export function documentCard(id, name) {
  const one = state.documents.get(id);
  if (!one) {
    return el('section', { class: 'document gone' }, el('div', { class: 'document-head' }, icon(ICONS.page), el('h2', {}, name || 'Document')),
      el('p', { class: 'note' }, 'This document is no longer on the server. Add it again to ask more about it.'));
  }
  return el('section', { class: 'document', data: { document: id } },
    el('div', { class: 'document-head' }, icon(ICONS.page), el('h2', { dir: 'auto' }, one.name),
      one.characters === null ? null : el('button', { class: 'button small', type: 'button', on: { click: () => emit('open', { document: id }) } }, 'Open the text')),
    el('p', { class: 'facts' }, factsOf(one)),
    (one.warnings || []).map((text) => el('p', { class: 'note' }, text)),
    statusLine(one),
    one.status === 'reading' || one.status === 'queued' ? el('p', { class: 'note' }, 'You can ask already: questions wait until the text has been read.') : null);
}

function documentItem(one, current) {
  const share = one.progress?.total ? one.progress.done / one.progress.total : 0;
  const twin = [...state.documents.values()].some((other) => other !== one && other.name === one.name);
  const state_ = one.status === 'ready' ? (twin ? one.attention.split(':')[0] : '') : one.status === 'failed' ? 'failed' : one.status === 'reading' ? `${Math.floor(share * 100)} %` : '…';
  return el('li', {}, el('a', { class: 'item', href: `#/d/${one.id}`, 'aria-current': current === one.id ? 'page' : null, title: factsOf(one) },
    el('span', { class: 'item-name', dir: 'auto' }, one.name), el('span', { class: 'item-state' }, state_)),
  iconButton('bin', `Delete ${one.name}`, () => removeDocument(one)));
}

/** The list at the side. Readings with another method stand below their text's first one. */
export function documentList(current) {
  const all = [...state.documents.values()];
  if (!all.length) return el('p', { class: 'note' }, 'No documents yet.');
  return el('ul', { class: 'items' }, all.map((one) => documentItem(one, current)));
}
