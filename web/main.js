// The frame of the page: what the address shows, the list at the side, the key, the state of the connection.

import { acceptDrops, dropZone, showPending } from './add.js';
import * as api from './api.js';
import { resumeAll } from './ask.js';
import { leaveConversation, showConversation } from './conversation.js';
import { button, clear, el, icon, ICONS, renew, say } from './dom.js';
import { documentList, refresh } from './documents.js';
import { showServer } from './server_view.js';
import { emit, load, newConversation, on, state } from './state.js';

const main = document.getElementById('main');
const side = document.getElementById('side');
const menu = document.getElementById('menu');

function home() {
  state.current = null;
  clear(main).append(el('div', { class: 'scroll' }, el('div', { class: 'column home' },
    el('h1', {}, 'Read it once. Ask as often as you like.'),
    el('p', { class: 'lead' }, 'Add a long document. It is read a single time, on this machine. Every answer shows the passages that it draws on, anywhere in the text.'),
    dropZone(), el('p', { class: 'row' }, el('a', { class: 'button', href: '#/chat' }, 'Or talk without a document')))));
}

/** Shows what the part of the address after # names. */
function route() {
  const [, kind = '', id = ''] = location.hash.split('/');
  leaveConversation();
  state.current = null;
  if (kind === 'c') state.current = state.conversations.find((one) => one.id === id) || null;
  if (kind === 'd') state.current = newConversation([id]);
  if (state.props && state.current?.documents.some((one) => !state.documents.has(one))) refresh();
  if (kind === 'chat') state.current = newConversation();
  if (state.current) showConversation(main, state.current);
  else if (kind === 'add') showPending(main);
  else if (kind === 'server') showServer(main);
  else if (!main.querySelector('.home')) home();
  document.title = state.current?.title ? `${state.current.title} – Longhaul` : 'Longhaul';
  openMenu(false);
  emit('current');
}

function conversationItem(one) {
  return el('li', {}, el('a', { class: 'item', href: `#/c/${one.id}`, 'aria-current': state.current === one ? 'page' : null },
    el('span', { class: 'item-name', dir: 'auto' }, one.title || 'Conversation')));
}

function drawSide() {
  const [, kind, id] = location.hash.split('/');
  renew(side,
    el('a', { class: 'button primary new', href: '#/' }, icon(ICONS.plus), 'Add a document'),
    el('h2', {}, 'Documents'), documentList(kind === 'd' ? id : null),
    el('h2', {}, 'Conversations'),
    state.conversations.length ? el('ul', { class: 'items' }, state.conversations.slice(0, 200).map(conversationItem)) : el('p', { class: 'note' }, 'They stay in this browser.'));
}

function openMenu(open) {
  document.body.classList.toggle('menu-open', open);
  menu.setAttribute('aria-expanded', String(open));
}

let asking = false;

/** Asks for the key; the page begins anew with it. */
function askForKey(refused) {
  if (asking) return;
  asking = true;
  const field = el('input', { type: 'password', id: 'key', autocomplete: 'current-password', required: true });
  const dialog = el('dialog', { class: 'dialog narrow', 'aria-labelledby': 'key-title' }, el('form', { method: 'dialog', on: {
    submit: () => { api.key.set(field.value.trim()); asking = false; start(); },
  } }, el('h2', { id: 'key-title' }, 'This server needs a key'),
  refused ? el('p', { class: 'advice bad', role: 'alert' }, 'The server does not accept this key.') : null,
  el('label', { for: 'key' }, 'Key'), field, el('p', { class: 'note' }, 'It stays in this tab and is forgotten when you close it.'),
  el('div', { class: 'row end' }, el('button', { class: 'button primary' }, 'Continue'))));
  dialog.addEventListener('cancel', (event) => event.preventDefault());
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function showOnline(online) {
  const node = document.getElementById('connection');
  const text = online ? '' : 'No connection, trying again …';
  if (node.textContent === text) return;
  node.textContent = text;
  say(online ? 'Connected again.' : text);
  if (online) refresh();
}

/** Reads what the page needs of the server. */
async function start() {
  api.key.get();
  try {
    state.props = await api.patient((signal) => api.get('props', signal));
    document.getElementById('model').textContent = state.props.model_alias || '';
    const methods = (await api.patient((signal) => api.get('v1/methods', signal))).data;
    state.methods = new Map(methods.map((one) => [one.name, one]));
    await refresh();
  } catch (error) {
    if (error.status !== 401) clear(main).append(el('section', { class: 'sheet' }, el('h1', {}, 'The server does not answer'), el('p', { class: 'advice bad' }, error.message), button('Try again', () => location.reload())));
    return;
  }
  route();
  resumeAll();
}

api.listeners.needKey = askForKey;
api.listeners.online = showOnline;
for (const event of ['documents', 'document', 'conversations', 'current']) on(event, drawSide);
on('pending', () => { if (location.hash === '#/add') showPending(main); });
addEventListener('hashchange', route);
menu.addEventListener('click', () => openMenu(!document.body.classList.contains('menu-open')));
main.addEventListener('click', () => openMenu(false));
side.addEventListener('click', (event) => { if (event.target.closest('a')) openMenu(false); });
addEventListener('keydown', (event) => {
  if (event.key === 'Escape') openMenu(false);
  if (event.key === '/' && !event.target.closest('input, textarea, select')) { event.preventDefault(); document.getElementById('question')?.focus(); }
});
document.addEventListener('visibilitychange', () => { if (!document.hidden && state.props) refresh(); });
setInterval(() => { if (!document.hidden && state.props) refresh(); }, 10_000);

acceptDrops();
drawSide();
if (location.hash.length < 3) home();
await load();
start();
