// Requests to the server: the key, errors, events, and replies that go on after a lost connection.

const KEY = 'longhaul.key';

export class Problem extends Error {
  constructor(status, error) {
    super(error.message || `the server answered ${status}`);
    this.status = status;
    this.code = error.code || '';
    this.fields = error;
  }
}

export const key = {
  get: () => sessionStorage.getItem(KEY) || '',
  set: (value) => (value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY)),
};

/** For the page: `needKey(refused)` when the server wants one, `online(yes)` when the connection changes. */
export const listeners = { needKey: () => {}, online: () => {} };

const address = (path) => new URL(path, new URL('.', location.href)).href;
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

function headers(more) {
  const all = { ...more };
  if (key.get()) all.Authorization = `Bearer ${key.get()}`;
  return all;
}

async function problemOf(response) {
  let error = {};
  try { error = (await response.json()).error || {}; } catch { /* no JSON */ }
  return new Problem(response.status, error);
}

async function send(method, path, { body, form, signal, more = {} } = {}) {
  const init = { method, signal, headers: headers(more), cache: 'no-store' };
  if (form) init.body = form;
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers['Content-Type'] = 'application/json';
  }
  let response;
  try {
    response = await fetch(address(path), init);
  } catch (error) {
    if (error.name !== 'AbortError') listeners.online(false);
    throw error;
  }
  listeners.online(true);
  if (response.status === 401) listeners.needKey(Boolean(key.get()));
  if (!response.ok) throw await problemOf(response);
  return response;
}

export async function get(path, signal) { return (await send('GET', path, { signal })).json(); }
export async function getText(path) { return (await send('GET', path)).text(); }
export async function post(path, body, signal) { return (await send('POST', path, { body, signal })).json(); }
export async function upload(path, form, signal) { return (await send('POST', path, { form, signal })).json(); }
export async function remove(path) { await send('DELETE', path); }

const isNetwork = (error) => error instanceof TypeError || error.name === 'TimeoutError';

/** Returns once the server answers again. */
async function reachable(signal) {
  for (let pause = 500; ; pause = Math.min(pause * 1.6, 5000)) {
    await wait(pause);
    if (signal?.aborted) throw new DOMException('aborted', 'AbortError');
    try {
      if ((await fetch(address('health'), { cache: 'no-store' })).status < 500) return listeners.online(true);
    } catch { listeners.online(false); }
  }
}

/** Repeats a short request until the server can be reached. `request(signal)` */
export async function patient(request) {
  for (;;) {
    try {
      return await request(AbortSignal.timeout(15_000));
    } catch (error) {
      if (!isNetwork(error) && error.code !== 'loading') throw error;
      await reachable();
    }
  }
}

/** Yields {data, bytes} for each event; `bytes` counts those of the stream up to its end, without pings. */
async function* eventsOf(response, bytes = 0) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = new Uint8Array(0);
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const all = new Uint8Array(rest.length + value.length);
    all.set(rest);
    all.set(value, rest.length);
    let begin = 0;
    for (let i = Math.max(1, rest.length); i < all.length; ++i) {
      if (all[i] !== 10 || all[i - 1] !== 10) continue;
      const text = decoder.decode(all.subarray(begin, i - 1));
      if (text !== ': ping') bytes += i + 1 - begin;
      begin = i + 1;
      const data = text.split('\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6)).join('\n');
      if (data) yield { data, bytes };
    }
    rest = all.slice(begin);
  }
}

/** Events of a path; after a lost connection from the beginning again. Ends with [DONE]. */
export async function* follow(path, signal) {
  for (;;) {
    try {
      for await (const { data } of eventsOf(await send('GET', path, { signal }))) {
        if (data === '[DONE]') return;
        yield JSON.parse(data);
      }
    } catch (error) {
      if (!isNetwork(error)) throw error;
      await reachable(signal);
    }
    await wait(300);
  }
}

/**
 * Sends a question and calls `onEvent(object, bytes)` for each event. The server keeps the reply under `id`: after a
 * lost connection, or with `from` after a reload, it continues where this client was and is not computed again.
 */
export async function ask(body, { id, from = 0, resume = false, signal, onEvent }) {
  let at = from;
  let sent = resume;
  const stream = `v1/stream/${encodeURIComponent(id)}`;
  for (;;) {
    try {
      const response = sent ? await send('GET', `${stream}?from=${at}`, { signal })
        : await send('POST', 'v1/chat/completions', { body, signal, more: { 'X-Conversation-Id': id } });
      sent = true;
      for await (const { data, bytes } of eventsOf(response, at)) {
        at = bytes;
        if (data === '[DONE]') return;
        const event = JSON.parse(data);
        if (event.error) throw new Problem(event.error.status || 500, event.error);
        onEvent(event, at);
      }
    } catch (error) {
      if (error instanceof Problem && error.status === 404 && sent && !resume && at === 0) {
        sent = false;  // the question never arrived
        continue;
      }
      if (!isNetwork(error) && error.code !== 'loading') throw error;
      if (!sent) sent = true;  // perhaps it arrived
      await reachable(signal);
    }
    await wait(100);
  }
}

export async function stop(id) {
  try { await remove(`v1/stream/${encodeURIComponent(id)}`); } catch { /* it has ended */ }
}
