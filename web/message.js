// One message of a conversation as elements: a question, an answer, or two answers side by side.

import * as ask from './ask.js';
import { differences } from './compare.js';
import { bytes, count, el, icon, iconButton, ICONS, percent, seconds } from './dom.js';
import { render } from './markdown.js';
import { advice, chooseMethod, shortName } from './methods.js';
import { missText } from './server_view.js';
import { marksOf, passageList } from './sources.js';
import { branchesAt, choose, emit, state } from './state.js';

const LEAST_EQUAL = 0.3;  // below it, marks would cover everything

function branchSwitch(conversation, message) {
  const { all, at } = branchesAt(conversation, message);
  if (all.length < 2) return null;
  const go = (by) => () => { choose(conversation, message, all[(at + by + all.length) % all.length]); emit('branch', conversation); };
  return el('span', { class: 'branches' }, iconButton('left', 'Earlier version', go(-1)), el('span', {}, `${at + 1} / ${all.length}`),
    iconButton('right', 'Later version', go(1)));
}

async function copy(event, text) {
  const button = event.currentTarget;
  if (navigator.clipboard) {
    try { await navigator.clipboard.writeText(text); } catch { return; }
  } else {  // an address without TLS
    const field = el('textarea', { class: 'for-ears' });
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand('copy');
    field.remove();
  }
  button.classList.add('done');
  setTimeout(() => button.classList.remove('done'), 1200);
}

// ---- questions

export function questionNode(conversation, message) {
  const text = el('div', { class: 'said', dir: 'auto' }, message.text.length > 4000 ? `${message.text.slice(0, 4000)} …` : message.text);
  const edit = () => {
    const field = el('textarea', { class: 'edit', rows: Math.min(12, message.text.split('\n').length + 1), 'aria-label': 'Question', dir: 'auto' });
    field.value = message.text;
    const send = () => { if (field.value.trim()) emit('ask', { conversation, parent: message.parent, text: field.value.trim() }); };
    text.replaceChildren(field, el('div', { class: 'row end' },
      el('button', { class: 'button small', type: 'button', on: { click: () => text.replaceChildren(message.text) } }, 'Cancel'),
      el('button', { class: 'button small primary', type: 'button', on: { click: send } }, 'Ask this instead')));
    field.addEventListener('keydown', (event) => { if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) { event.preventDefault(); send(); } });
    field.focus();
  };
  return el('article', { class: 'message question', 'aria-label': 'Question' }, text,
    el('div', { class: 'actions' }, branchSwitch(conversation, message), iconButton('edit', 'Change the question', edit), iconButton('copy', 'Copy', (event) => copy(event, message.text))));
}

// ---- answers

function waitingLine(message) {
  if (message.text || message.status !== 'running') return null;
  const progress = message.progress;
  if (!progress || progress.processed >= progress.total) return el('p', { class: 'busy' }, message.thinking ? 'Thinking …' : 'Reading the question …');
  const bar = el('progress', { max: progress.total, value: progress.processed, 'aria-label': 'Reading' });
  return el('div', { class: 'progress' }, bar, el('p', { class: 'note' }, `Reading: ${count(progress.processed)} of ${count(progress.total)} tokens`));
}

function facts(message) {
  const report = message.report || {};
  const all = [];
  const add = (text, title) => all.push(el('span', { title }, text));
  if (message.attention) add(shortName(message.attention), message.attention);
  const first = message.firstToken ?? (report.readMs ? (report.readMs + (report.queueMs || 0)) / 1000 : null);
  if (first !== null && message.text) add(`first token after ${seconds(first)}`, 'from the question to the first piece of the answer');
  if (report.prompt) add(`${count(report.cached)} of ${count(report.prompt)} tokens reused`, 'tokens of the prompt that did not have to be read again');
  if (report.kv) add(`${bytes(report.kv)}${report.kvDense > report.kv * 1.02 ? ` (dense ${bytes(report.kvDense)})` : ''}`, 'memory of the keys and values');
  if (report.perSecond) add(`${report.perSecond.toFixed(report.perSecond < 10 ? 1 : 0)} tokens/s`, 'speed of the reply');
  return all.length ? el('p', { class: 'meta' }, all) : null;
}

function notes(message) {
  const report = message.report || {};
  const all = [];
  if ((report.cache?.reusable || 0) > (report.cache?.reused || 0) + 16) all.push(missText(report.cache));
  if (message.finish === 'length') all.push('The answer was cut off: it reached its longest length.');
  return [...all, ...(report.warnings || [])].map((text) => el('p', { class: 'note warn' }, text));
}

function endLine(conversation, message) {
  const again = () => ask.run(conversation, message);
  if (message.status === 'stopped') return el('p', { class: 'note' }, 'Stopped.');
  if (message.status !== 'failed' && message.status !== 'interrupted') return null;
  return el('p', { class: 'advice bad', role: 'alert' }, message.error || 'The reply was interrupted.', ' ',
    el('button', { class: 'button small', type: 'button', on: { click: again } }, 'Ask again'));
}

async function askBeside(conversation, message) {
  const tokens = state.documents.get(conversation.documents[0])?.tokens || message.report?.prompt || 1000;
  const method = await chooseMethod('Answer with another method', await advice(tokens), shortName(message.attention));
  if (method) ask.answerBeside(conversation, message, method);
}

function actions(conversation, message, second) {
  const question = conversation.messages[message.parent];
  return el('div', { class: 'actions' }, second ? null : branchSwitch(conversation, message),
    iconButton('copy', 'Copy', (event) => copy(event, message.text)),
    iconButton('again', 'Answer again', () => ask.answer(conversation, question, [message.method || ''])),
    second || message.beside ? null : iconButton('beside', 'Answer with another method beside this one', () => askBeside(conversation, message)));
}

function thinking(message) {
  if (!message.thinking) return null;
  return el('details', { class: 'thinking' }, el('summary', {}, 'Reasoning'), el('div', { dir: 'auto' }, message.thinking));
}

function answerBody(conversation, message, ranges, second = false) {
  const body = el('div', { class: 'text-of-answer', dir: 'auto' });
  if (message.text) body.append(render(message.text, message.status === 'running' ? [] : marksOf(message), ranges));
  const running = message.status === 'running';
  return [thinking(message), waitingLine(message), body, endLine(conversation, message), running ? null : passageList(message), running ? null : facts(message),
    notes(message), running ? null : actions(conversation, message, second)];
}

function sideBySide(conversation, first, other) {
  const done = first.status !== 'running' && other.status !== 'running';
  const found = done ? differences(first.text, other.text) : { first: [], second: [], equal: null };
  if (found.equal !== null && found.equal < LEAST_EQUAL) Object.assign(found, { first: [], second: [] });
  const name = (message) => message.attention ? shortName(message.attention) : message.method || 'usual method';
  return [
    done && found.equal !== null ? el('p', { class: 'note' }, icon(ICONS.beside), found.equal === 1 ? 'Both answers have the same words.'
      : found.equal < LEAST_EQUAL ? `The answers differ: only ${percent(found.equal)} of the words agree.` : `${percent(found.equal)} of the words agree. Differences are marked.`) : null,
    el('div', { class: 'beside' },
      el('section', { 'aria-label': `Answer with ${name(first)}` }, el('h3', {}, name(first)), answerBody(conversation, first, found.first)),
      el('section', { 'aria-label': `Answer with ${name(other)}` }, el('h3', {}, name(other)), answerBody(conversation, other, found.second, true))),
  ];
}

export function answerNode(conversation, message) {
  const other = message.beside && conversation.messages[message.beside];
  return el('article', { class: `message answer${other ? ' two' : ''}`, 'aria-label': 'Answer', 'aria-busy': String(message.status === 'running') },
    other ? sideBySide(conversation, message, other) : answerBody(conversation, message, []));
}
