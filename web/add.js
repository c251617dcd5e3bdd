// Adding a document: a file or pasted text, its size, and which method reads it.

import * as api from './api.js';
import { button, bytes, clear, countOf, el, icon, ICONS, say, seconds } from './dom.js';
import { advice, methodTable, recommendation } from './methods.js';
import { emit, state } from './state.js';

const MOST_BYTES = 256 << 20;
const FORMATS = '.txt,.md,.pdf,.docx,.odt,.epub,.html,.htm,.rtf,text/*,application/pdf';
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

let pending = null;  // {name, size, text, fileId, pages, tokens, advice, error}

/** Gives the file to the server, which finds the text in it. */
async function convert(file) {
  const form = new FormData();
  form.append('purpose', 'user_data');
  form.append('file', file, file.name);
  let made = await api.upload('v1/files', form);
  while (made.status === 'uploaded') {
    await wait(400);
    made = await api.get(`v1/files/${made.id}`);
  }
  if (made.status === 'error') throw new Error(made.status_details || 'the file cannot be read');
  return { fileId: made.id, text: await api.getText(`v1/files/${made.id}/content`) };
}

async function countTokens(text) {
  const found = await api.post('v1/chat/completions/input_tokens', { messages: [{ role: 'user', content: text }] });
  return found.input_tokens ?? found.tokens;
}

async function prepare(item) {
  try {
    if (item.size === 0) throw new Error('there is nothing in it');
    if (item.size > MOST_BYTES) throw new Error(`it has ${bytes(item.size)}, and the server reads at most ${bytes(MOST_BYTES)}`);
    if (item.file) Object.assign(item, await convert(item.file));
    if (!item.text.trim()) throw new Error('there is no text in it');
    item.pages = (item.text.match(/^\[page \d+\]$/gm) || []).length;
    item.tokens = await countTokens(item.text);
    item.advice = await advice(item.tokens);
    item.attention = item.advice.attention || item.advice.data.find((row) => row.fits)?.attention || '';
    say(`${item.name}: ${countOf(item.tokens, 'token')}.`);
  } catch (error) {
    item.error = error.message;
    say(`${item.name}: ${item.error}`);
  }
  if (pending === item) emit('pending');
}

export function addFile(file) {
  pending = { name: file.name || 'document', size: file.size, file };
  location.hash = '#/add';
  emit('pending');
  prepare(pending);
}

export function addText(text) {
  const name = text.trim().split('\n')[0].slice(0, 60) || 'Pasted text';
  pending = { name, size: new Blob([text]).size, text };
  location.hash = '#/add';
  emit('pending');
  prepare(pending);
}

async function begin(item, starter) {
  starter.disabled = true;
  starter.textContent = 'Starting …';
  try {
    const what = item.fileId ? { file_id: item.fileId } : { text: item.text };
    const made = await api.post('v1/documents', { ...what, name: item.name, ...(item.attention && { attention: item.attention }),
      ...(state.props?.longhaul?.cache_dir && { persist: true }) });
    state.documents.set(made.id, made);
    if (item.fileId && made.status !== 'converting') api.remove(`v1/files/${item.fileId}`).catch(() => {});
    pending = null;
    emit('documents');
    location.hash = `#/d/${made.id}`;
  } catch (error) {
    item.error = error.message;
    if (error.fields?.fits?.length) item.error += `. These methods would fit: ${error.fields.fits.map((one) => one.attention).join(', ')}`;
    emit('pending');
  }
}

function discard() {
  if (pending?.fileId) api.remove(`v1/files/${pending.fileId}`).catch(() => {});
  pending = null;
  location.hash = '#/';
}

/** The view of a document before it is read. */
export function showPending(main) {
  const item = pending;
  if (!item) { location.hash = '#/'; return; }
  const head = [el('p', { class: 'kicker' }, 'New document'), el('h1', { dir: 'auto' }, item.name)];
  if (item.error) {
    clear(main).append(el('section', { class: 'sheet' }, ...head, el('p', { class: 'advice bad', role: 'alert' }, `This document cannot be added: ${item.error}.`),
      el('div', { class: 'row' }, button('Back', discard))));
    return;
  }
  if (!item.advice) {
    clear(main).append(el('section', { class: 'sheet' }, ...head,
      el('p', { class: 'busy', role: 'status' }, `Reading the text of ${bytes(item.size)} and counting its tokens …`), el('div', { class: 'row' }, button('Cancel', discard))));
    return;
  }
  const facts = [bytes(item.size), item.pages ? countOf(item.pages, 'page') : '', countOf(item.tokens, 'token')].filter(Boolean);
  const starter = button('', () => begin(item, starter), { class: 'button primary' });
  const label = () => {
    const row = item.advice.data.find((one) => one.attention === item.attention);
    starter.textContent = row?.seconds ? `Read it, about ${seconds(row.seconds)}` : 'Read it';
    starter.disabled = item.advice.data.length > 0 && !row?.fits;
  };
  label();
  clear(main).append(el('section', { class: 'sheet wide' }, ...head, el('p', { class: 'facts' }, facts.join(' · ')), recommendation(item.advice),
    item.advice.data.length ? methodTable(item.advice, item.attention, (row) => { item.attention = row.attention; label(); }) : null,
    el('div', { class: 'row sticky' }, starter, button('Cancel', discard), el('span', { class: 'note' }, 'The text is read once. Every question after that starts from there.'))));
}

/** The place where a document can be dropped, chosen or pasted. */
export function dropZone() {
  const input = el('input', { type: 'file', accept: FORMATS, class: 'for-ears', id: 'file', on: { change: () => { if (input.files[0]) addFile(input.files[0]); } } });
  const area = el('textarea', { id: 'paste', rows: 3, placeholder: 'Or paste a text here', 'aria-label': 'Paste a text', on: {
    paste: (event) => {
      const file = event.clipboardData.files[0];
      const text = event.clipboardData.getData('text/plain');
      if (!file && text.length < 20_000) return;
      event.preventDefault();
      if (file) addFile(file); else addText(text);
    },
  } });
  const form = el('form', { class: 'paste', on: { submit: (event) => { event.preventDefault(); if (area.value.trim()) addText(area.value); } } },
    area, el('button', { class: 'button', type: 'submit' }, 'Add this text'));
  return el('div', { class: 'zone' }, el('label', { class: 'file', for: 'file' }, icon(ICONS.plus), el('strong', {}, 'Add a document'),
    el('span', {}, 'Drop a PDF, DOCX or text file here, or choose one'), input), form);
}

/** Files dropped anywhere on the page. */
export function acceptDrops() {
  const veil = document.getElementById('drop');
  let depth = 0;
  const isFile = (event) => [...(event.dataTransfer?.types || [])].includes('Files');
  addEventListener('dragenter', (event) => { if (isFile(event)) { ++depth; veil.hidden = false; } });
  addEventListener('dragleave', (event) => { if (isFile(event) && --depth <= 0) { depth = 0; veil.hidden = true; } });
  addEventListener('dragover', (event) => { if (isFile(event)) event.preventDefault(); });
  addEventListener('drop', (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    depth = 0;
    veil.hidden = true;
    if (event.dataTransfer.files[0]) addFile(event.dataTransfer.files[0]);
  });
}
