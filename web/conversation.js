// A conversation: its documents, its messages, and the field for the next question.

import * as ask from './ask.js';
import { composer, methodsOf } from './composer.js';
import { clear, eachFrame, el, iconButton, renew } from './dom.js';
import { documentCard } from './documents.js';
import { exportJson, exportMarkdown } from './export.js';
import { answerNode, questionNode } from './message.js';
import { setMarks } from './reader.js';
import { indexer, passagesOf } from './sources.js';
import { branch, emit, forget, on, state } from './state.js';

let shown = null;  // {conversation, list, cards, nodes, composer, scroller}

const answersIn = (conversation) => branch(conversation).filter((message) => message.role === 'assistant')
  .flatMap((message) => [message, conversation.messages[message.beside]].filter(Boolean));

const isRunning = () => shown && answersIn(shown.conversation).some(ask.isRunning);

function stop() { for (const message of answersIn(shown.conversation)) if (ask.isRunning(message)) ask.stop(message); }

function nodeOf(message) {
  return message.role === 'user' ? questionNode(shown.conversation, message) : answerNode(shown.conversation, message);
}

const nearEnd = () => shown.scroller.scrollHeight - shown.scroller.scrollTop - shown.scroller.clientHeight < 120;
const toEnd = () => { shown.scroller.scrollTop = shown.scroller.scrollHeight; };

function drawMessages() {
  const path = branch(shown.conversation);
  shown.nodes.clear();
  clear(shown.list);
  for (const message of path) {
    const node = nodeOf(message);
    shown.nodes.set(message.id, node);
    shown.list.append(node);
  }
  setMarks(answersIn(shown.conversation).flatMap(passagesOf));
  shown.tools.hidden = !path.length;
  shown.composer.update();
}

const changed = new Set();

/** Messages that have grown, drawn once for each frame. */
const redraw = eachFrame(() => {
  if (!shown) return;
  const follow = nearEnd();
  for (const id of changed) {
    const message = shown.conversation.messages[id];
    const first = message?.second ? branch(shown.conversation).find((other) => other.beside === id) : message;
    const node = first && shown.nodes.get(first.id);
    if (!node) continue;
    const fresh = nodeOf(first);
    node.replaceWith(fresh);
    shown.nodes.set(first.id, fresh);
  }
  changed.clear();
  shown.composer.update();
  if (follow) toEnd();
});

function askHere(text, parent) {
  const conversation = shown.conversation;
  const isNew = !state.conversations.includes(conversation);
  const after = parent === undefined ? branch(conversation).at(-1)?.id || '' : parent;
  ask.askQuestion(conversation, after, text, methodsOf(conversation));
  if (isNew) history.replaceState(null, '', `#/c/${conversation.id}`);
  emit('current');
  drawMessages();
  toEnd();
}

async function discard() {
  if (!confirm('Delete this conversation from this browser?')) return;
  await forget(shown.conversation);
  location.hash = '#/';
}

function cardsOf(conversation) {
  return conversation.documents.map((id, i) => documentCard(id, conversation.names[i]));
}

function starters(conversation) {
  if (branch(conversation).length || !conversation.documents.length) return null;
  const questions = ['What is this text about?', 'What are its main points?', 'Who is mentioned, and what do they do?'];
  return el('div', { class: 'starters' }, questions.map((text) => el('button', { class: 'starter', type: 'button', on: { click: () => askHere(text) } }, text)));
}

export function showConversation(main, conversation) {
  const list = el('div', { class: 'messages', id: 'messages' });
  const cards = el('div', { class: 'cards' }, cardsOf(conversation));
  const tools = el('div', { class: 'tools' },
    el('button', { class: 'button small', type: 'button', on: { click: () => exportMarkdown(conversation) } }, 'Save as Markdown'),
    el('button', { class: 'button small', type: 'button', on: { click: () => exportJson(conversation) } }, 'Save as JSON'),
    iconButton('bin', 'Delete this conversation', discard));
  const begin = el('div', {}, starters(conversation));
  const scroller = el('div', { class: 'scroll' }, el('div', { class: 'column' },
    conversation.documents.length ? el('h1', { class: 'for-ears' }, conversation.title || `Questions about ${conversation.names[0]}`) : el('h1', { class: conversation.title ? 'for-ears' : '' }, conversation.title || 'A conversation'),
    cards, begin, list, tools));
  shown = { conversation, list, cards, tools, begin, scroller, nodes: new Map() };
  shown.composer = composer(conversation, { ask: (text) => { begin.replaceChildren(); askHere(text); }, isRunning, stop });
  clear(main).append(scroller, shown.composer.node);
  drawMessages();
  toEnd();
  if (matchMedia('(pointer: fine)').matches) shown.composer.focus();
}

export function leaveConversation() { shown = null; setMarks([]); }

/** Marks a passage in a message of this conversation, the `message`-th one. */
on('show-message', ({ message: index, from, to }) => {
  const message = shown && branch(shown.conversation)[index];
  const said = message && shown.nodes.get(message.id)?.querySelector('.said');
  if (!said) return;
  const at = indexer(message.text);
  said.replaceChildren(message.text.slice(0, at(from)), el('mark', { class: 'active' }, message.text.slice(at(from), at(to))), message.text.slice(at(to)));
  said.querySelector('mark').scrollIntoView({ block: 'center' });
});
on('message', (message) => { changed.add(message.id); redraw(); });
on('reply-ended', () => { if (shown) setMarks(answersIn(shown.conversation).flatMap(passagesOf)); });
on('branch', (conversation) => { if (shown?.conversation === conversation) drawMessages(); });
on('ask', ({ conversation, parent, text }) => { if (shown?.conversation === conversation) askHere(text, parent); });
for (const event of ['documents', 'document']) {
  on(event, () => {
    if (!shown) return;
    renew(shown.cards, ...cardsOf(shown.conversation));
    shown.composer.update();
  });
}
