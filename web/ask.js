// Questions and their replies: what is sent, what comes back, and replies that go on after a reload.

import * as api from './api.js';
import { say } from './dom.js';
import { addMessage, emit, keep, pathTo, save, state } from './state.js';

const running = new Map();  // AbortControllers by message

export const isRunning = (message) => running.has(message.id);

/** The documents of an answer: those of the conversation, or the same texts read with another method. */
async function documentsFor(conversation, attention) {
  if (!conversation.documents.length) return [];
  if (!attention) return conversation.documents;
  conversation.forks ||= {};
  const known = conversation.forks[attention];
  if (known && known.every((id) => state.documents.has(id))) return known;
  const forks = [];
  for (const id of conversation.documents) {
    const own = state.documents.get(id);
    if (own && own.attention === attention) { forks.push(id); continue; }
    const fork = await api.post(`v1/documents/${id}/fork`, { attention });
    state.documents.set(fork.id, fork);
    forks.push(fork.id);
  }
  conversation.forks[attention] = forks;
  emit('documents');
  return forks;
}

function bodyOf(conversation, message) {
  const before = pathTo(conversation, conversation.messages[message.parent]);
  const body = {
    model: state.props?.model_alias || 'longhaul', stream: true, return_progress: true, sources: true, stream_options: { include_usage: true },
    messages: before.map(({ role, text }) => ({ role, content: text })),
  };
  if (message.documents.length) body.documents = message.documents;
  else if (message.method) body.attention = message.method;
  return body;
}

/** Keeps the numbers of a reply that a reader may want to see. */
function takeReport(message, event) {
  const { usage, timings, longhaul } = event;
  message.report = {
    ...message.report,
    ...(usage && { prompt: usage.prompt_tokens, reply: usage.completion_tokens, cached: usage.prompt_tokens_details?.cached_tokens ?? 0 }),
    ...(timings && { perSecond: timings.predicted_per_second, readMs: timings.prompt_ms }),
  };
  if (!longhaul) return;
  message.attention = longhaul.attention;
  message.sources = longhaul.sources || [];
  message.sentences = longhaul.sentences || [];
  message.restsOnPassage = longhaul.rests_on_a_passage;
  Object.assign(message.report, { kv: longhaul.kv_bytes, kvDense: longhaul.kv_bytes_dense, queueMs: longhaul.queue_ms,
    pairs: longhaul.pairs_share, seed: longhaul.seed, cache: longhaul.cache || {}, warnings: longhaul.warnings || [] });
  for (const text of message.report.warnings) state.warnings.unshift({ at: Date.now(), text });
  const { reused = 0, reusable = 0 } = message.report.cache;
  if (reusable > reused + 16) state.misses.unshift({ at: Date.now(), ...message.report.cache });
}

function take(message, event) {
  if (event.prompt_progress) message.progress = event.prompt_progress;
  const choice = event.choices?.[0];
  if (choice?.delta?.reasoning_content) message.thinking = (message.thinking || '') + choice.delta.reasoning_content;
  if (choice?.delta?.content) {
    if (!message.text && !message.resumed) message.firstToken = (Date.now() - message.begun) / 1000;
    message.text += choice.delta.content;
    message.progress = null;
  }
  if (choice?.finish_reason) message.finish = choice.finish_reason;
  if (event.usage || event.longhaul || event.timings) takeReport(message, event);
}

function failed(message, error) {
  if (error.name === 'AbortError') { message.status = 'stopped'; return; }
  if (message.resumed && (error.status === 404 || error.status === 400)) {
    message.status = 'interrupted';
    message.error = 'The server no longer has the rest of this reply.';
    return;
  }
  message.status = 'failed';
  message.code = error.code || '';
  message.error = error.status === 401 ? 'The server needs a key.'
    : /document_(deleted|not_found)/.test(message.code) ? 'The document is no longer on the server. Add it again to ask more.' : error.message;
  if (error.fields?.fits?.length) message.error += ` These methods would fit: ${error.fields.fits.map((one) => one.attention).join(', ')}.`;
  if (/document/.test(message.code)) emit('documents-changed');
}

/** Computes the reply `message`, or with `resume` reads what the server has kept of it. */
export async function run(conversation, message, resume = false) {
  const controller = new AbortController();
  running.set(message.id, controller);
  message.status = 'running';
  message.resumed = resume;
  if (!resume) Object.assign(message, { text: '', thinking: '', offset: 0, begun: Date.now(), error: '', progress: null, report: {} });
  emit('message', message);
  save(conversation);
  try {
    if (!resume) message.documents = await documentsFor(conversation, message.method);
    await api.ask(resume ? null : bodyOf(conversation, message), {
      id: message.id, from: message.offset, resume, signal: controller.signal,
      onEvent: (event, offset) => {
        take(message, event);
        message.offset = offset;
        save(conversation, true);
        emit('message', message);
      },
    });
    message.status = 'done';
    say(message.text.slice(0, 1000));
  } catch (error) {
    failed(message, error);
    say(message.error || 'Stopped.');
  }
  message.progress = null;
  running.delete(message.id);
  save(conversation);
  emit('message', message);
  emit('reply-ended', message);
}

export function stop(message) {
  api.stop(message.id);
  running.get(message.id)?.abort();
}

/** Asks `text` after `parent`; with two methods the answers stand side by side. Returns the question. */
export function askQuestion(conversation, parent, text, methods) {
  const question = addMessage(conversation, parent, { role: 'user', text });
  if (!conversation.title) conversation.title = text.slice(0, 80);
  keep(conversation);
  answer(conversation, question, methods);
  return question;
}

/** Answers a question once, or with two methods. */
export function answer(conversation, question, methods) {
  const all = methods.map((method) => addMessage(conversation, question.id,
    { role: 'assistant', text: '', status: 'running', method, documents: [], sources: [], sentences: [] }));
  if (all[1]) {
    all[0].beside = all[1].id;
    all[1].second = true;
    conversation.chosen[question.id] = all[0].id;
  }
  for (const message of all) run(conversation, message);
  emit('branch', conversation);
  return all[0];
}

/** A second answer with another method, beside the first. */
export function answerBeside(conversation, first, method) {
  const second = addMessage(conversation, first.parent,
    { role: 'assistant', text: '', status: 'running', method, documents: [], sources: [], sentences: [], second: true });
  first.beside = second.id;
  conversation.chosen[first.parent] = first.id;
  run(conversation, second);
  emit('branch', conversation);
}

/** After a reload: replies that were on their way. */
export function resumeAll() {
  for (const conversation of state.conversations) {
    for (const message of Object.values(conversation.messages)) {
      if (message.status !== 'running') continue;
      if (message.begun) run(conversation, message, true);
      else message.status = 'interrupted';
    }
  }
}
