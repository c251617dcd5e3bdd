// The field for a question, with the methods that answer it.

import { el, icon, ICONS } from './dom.js';
import { shortName } from './methods.js';
import { save, state } from './state.js';

/** Methods of the server by name, without what needs files or a choice of its own. */
function methodOptions(chosen, first, without) {
  const names = [...state.methods.keys()].filter((name) => name !== without);
  return [el('option', { value: '' }, first), ...names.map((name) => el('option', { value: name, selected: name === chosen }, name))];
}

function methodSelect(label, value, first, without, change) {
  const select = el('select', { 'aria-label': label, on: { change: () => change(select.value) } }, methodOptions(value, first, without));
  return el('label', { class: 'method-select' }, el('span', {}, label), select);
}

/** Methods for the next question of a conversation: one, or two side by side. */
export function methodsOf(conversation) {
  return conversation.compare ? [conversation.attention || '', conversation.compare] : [conversation.attention || ''];
}

/**
 * `ask(text)`: sends a question. `isRunning()`, `stop()`: the replies that are on their way.
 */
export function composer(conversation, { ask, isRunning, stop }) {
  const own = state.documents.get(conversation.documents[0]);
  const usual = own ? shortName(own.attention) : shortName(state.props?.longhaul?.attention || 'dense');
  const field = el('textarea', { id: 'question', rows: 1, dir: 'auto', 'aria-label': 'Question' });
  const grow = () => { field.style.height = 'auto'; field.style.height = `${Math.min(220, field.scrollHeight)}px`; };
  const submit = () => {
    const text = field.value.trim();
    if (!text || isRunning()) return;
    field.value = '';
    grow();
    ask(text);
  };
  field.addEventListener('input', grow);
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) { event.preventDefault(); submit(); }
  });
  const go = el('button', { class: 'send', type: 'submit', 'aria-label': 'Ask', title: 'Ask (Enter)' }, icon(ICONS.send));
  const halt = el('button', { class: 'send halt', type: 'button', 'aria-label': 'Stop', title: 'Stop', on: { click: stop } }, icon(ICONS.stop));
  const choices = el('div', { class: 'choices' },
    conversation.documents.length ? null : methodSelect('Method', conversation.attention, `usual (${usual})`, null, (value) => { conversation.attention = value; save(conversation); }),
    state.methods.size ? methodSelect('Compare with', conversation.compare, 'nothing', usual, (value) => { conversation.compare = value; save(conversation); }) : null);
  const node = el('form', { class: 'composer', on: { submit: (event) => { event.preventDefault(); submit(); } } },
    el('div', { class: 'field' }, field, go, halt), choices);
  const update = () => {
    const about = state.documents.get(conversation.documents[0]);
    field.placeholder = about ? `Ask about ${about.name}` : 'Ask something';
    const busy = isRunning();
    go.hidden = busy;
    halt.hidden = !busy;
  };
  update();
  return { node, update, focus: () => field.focus({ preventScroll: true }), set: (text) => { field.value = text; grow(); } };
}
