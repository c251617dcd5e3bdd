// A conversation as a file, with its sources.

import { placeOf, passagesOf } from './sources.js';
import { branch } from './state.js';

function download(name, type, text) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const fileName = (conversation, ending) =>
  `${(conversation.title || 'conversation').replace(/[^\p{L}\p{N} _-]/gu, '').trim().slice(0, 60) || 'conversation'}.${ending}`;

/** The answers at a place of a conversation: one, or two that are compared. */
function answersOf(conversation, message) {
  const second = message.beside && conversation.messages[message.beside];
  return second ? [message, second] : [message];
}

function answerMarkdown(answer) {
  const lines = [];
  if (answer.attention) lines.push(`*${answer.attention}*`, '');
  lines.push(answer.text || `(${answer.error || answer.status})`, '');
  passagesOf(answer).forEach((source, i) => {
    lines.push(`> ${i + 1}. ${(source.text || '').replace(/\s+/g, ' ')}`, `> — ${placeOf(source, true)}`, '>');
  });
  if (lines.at(-1) === '>') lines.pop();
  return lines.join('\n');
}

export function markdownOf(conversation) {
  const parts = [`# ${conversation.title || 'Conversation'}`];
  if (conversation.names.length) parts.push(`About: ${conversation.names.join(', ')}`);
  for (const message of branch(conversation)) {
    if (message.role === 'user') parts.push(`## ${message.text}`);
    else parts.push(...answersOf(conversation, message).map(answerMarkdown));
  }
  return parts.join('\n\n') + '\n';
}

export function jsonOf(conversation) {
  const messages = branch(conversation).flatMap((message) => (message.role === 'user'
    ? [{ role: 'user', content: message.text }]
    : answersOf(conversation, message).map((answer) => ({
      role: 'assistant', content: answer.text, status: answer.status, attention: answer.attention || null,
      sources: answer.sources || [], sentences: answer.sentences || [], report: answer.report || null,
    }))));
  return JSON.stringify({ title: conversation.title, documents: conversation.names, created: new Date(conversation.created).toISOString(), messages }, null, 2) + '\n';
}

export const exportMarkdown = (c) => download(fileName(c, 'md'), 'text/markdown;charset=utf-8', markdownOf(c));
export const exportJson = (c) => download(fileName(c, 'json'), 'application/json', jsonOf(c));
