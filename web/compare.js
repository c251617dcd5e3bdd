// Differences between two answers, by words.

const MOST_WORDS = 1500;

function wordsOf(text) {
  return [...text.matchAll(/[\p{L}\p{N}\p{M}_'’-]+|[^\s]/gu)].map((found) => ({ word: found[0].toLowerCase(), from: found.index, to: found.index + found[0].length }));
}

/** Lengths of the longest common sequences of the ends of both lists. */
function table(a, b) {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; --i) {
    for (let j = b.length - 1; j >= 0; --j) {
      lengths[i * width + j] = a[i].word === b[j].word ? lengths[(i + 1) * width + j + 1] + 1
        : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  return { lengths, width };
}

/** Ranges of words that the other side does not have; neighbours become one range. */
function rangesOf(words, text) {
  const ranges = [];
  for (const { from, to } of words) {
    const last = ranges.at(-1);
    if (last && /^\s*$/.test(text.slice(last.to, from))) last.to = to;
    else ranges.push({ from, to });
  }
  return ranges;
}

/** {first, second, equal}: ranges that differ, and the share of words that both have. */
export function differences(first, second) {
  const a = wordsOf(first);
  const b = wordsOf(second);
  if (a.length > MOST_WORDS || b.length > MOST_WORDS) return { first: [], second: [], equal: null };
  const { lengths, width } = table(a, b);
  const onlyA = [];
  const onlyB = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i].word === b[j].word) { ++i; ++j; }
    else if (j >= b.length || (i < a.length && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])) onlyA.push(a[i++]);
    else onlyB.push(b[j++]);
  }
  const most = Math.max(a.length, b.length);
  return { first: rangesOf(onlyA, first), second: rangesOf(onlyB, second), equal: most ? lengths[0] / most : 1 };
}
