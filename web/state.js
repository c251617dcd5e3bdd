// Everything the page knows: documents of the server, and conversations, which the browser keeps.

export const state = {
  props: null,          // GET /props
  methods: new Map(),   // GET /v1/methods, by name
  documents: new Map(), // document objects, by id
  conversations: [],    // newest first
  current: null,        // the conversation that is shown
  misses: [],           // replies that read more than they had to
  warnings: [],
};

const heard = new Map();

export function on(event, f) {
  if (!heard.has(event)) heard.set(event, new Set());
  heard.get(event).add(f);
}
export function emit(event, detail) { for (const f of heard.get(event) || []) f(detail); }

export const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, '0')).join('');

// ---- the browser's database

let database = null;

function open() {
  return new Promise((done, fail) => {
    const request = indexedDB.open('longhaul', 1);
    request.onupgradeneeded = () => request.result.createObjectStore('conversations', { keyPath: 'id' });
    request.onsuccess = () => done(request.result);
    request.onerror = () => fail(request.error);
  });
}

function run(mode, use) {
  return new Promise((done, fail) => {
    const request = use(database.transaction('conversations', mode).objectStore('conversations'));
    request.onsuccess = () => done(request.result);
    request.onerror = () => fail(request.error);
  });
}

/** Reads the conversations. Without a database (a private window) they last as long as the page. */
export async function load() {
  try {
    const slow = new Promise((done, fail) => { setTimeout(() => fail(new Error('slow')), 4000); });
    database = await Promise.race([open(), slow]);
    state.conversations = (await run('readonly', (store) => store.getAll())).sort((a, b) => b.updated - a.updated);
  } catch {
    database = null;
  }
  addEventListener('pagehide', flush);
  document.addEventListener('visibilitychange', flush);
}

const unsaved = new Set();
let timer = 0;

export function flush() {
  clearTimeout(timer);
  timer = 0;
  for (const conversation of unsaved) if (database) run('readwrite', (store) => store.put(conversation)).catch(() => {});
  unsaved.clear();
}

export function save(conversation, soon = false) {
  if (!state.conversations.includes(conversation)) return;  // nothing has been asked yet
  unsaved.add(conversation);
  if (!soon) { flush(); return; }
  if (!timer) timer = setTimeout(flush, 400);
}

// ---- conversations: a tree of messages

export function newConversation(documents = []) {
  const names = documents.map((id) => state.documents.get(id)?.name || 'document');
  const now = Date.now();
  return { id: newId(), title: '', documents, names, attention: '', created: now, updated: now, messages: {}, roots: [], chosen: {} };
}

/** Adds a conversation to the list with its first message. */
export function keep(conversation) {
  if (!state.conversations.includes(conversation)) state.conversations.unshift(conversation);
  conversation.updated = Date.now();
  conversation.names = conversation.documents.map((id, i) => state.documents.get(id)?.name || conversation.names[i]);
  save(conversation);
  emit('conversations');
}

export async function forget(conversation) {
  state.conversations = state.conversations.filter((other) => other !== conversation);
  unsaved.delete(conversation);
  if (database) await run('readwrite', (store) => store.delete(conversation.id));
  emit('conversations');
}

const siblingsOf = (conversation, parent) => (parent ? conversation.messages[parent].children : conversation.roots);

export function addMessage(conversation, parent, message) {
  const full = { id: newId(), parent, children: [], at: Date.now(), ...message };
  conversation.messages[full.id] = full;
  siblingsOf(conversation, parent).push(full.id);
  conversation.chosen[parent || ''] = full.id;
  return full;
}

/** The messages from the first one to the end of the chosen branch. */
export function branch(conversation) {
  const path = [];
  for (let parent = ''; ;) {
    const siblings = siblingsOf(conversation, parent);
    if (!siblings.length) return path;
    const id = conversation.chosen[parent] || siblings.at(-1);
    path.push(conversation.messages[id]);
    parent = id;
  }
}

export function pathTo(conversation, message) {
  const path = [];
  for (let at = message; at; at = at.parent && conversation.messages[at.parent]) path.unshift(at);
  return path;
}

/** The branches at a message: those that begin beside it, without the second half of a comparison. */
export function branchesAt(conversation, message) {
  const all = siblingsOf(conversation, message.parent).filter((id) => !conversation.messages[id].second);
  return { all, at: all.indexOf(message.id) };
}

export function choose(conversation, message, id) {
  conversation.chosen[message.parent || ''] = id;
  save(conversation);
}
