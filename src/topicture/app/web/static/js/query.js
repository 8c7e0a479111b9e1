// The words of a search as people type them: separated by spaces or commas, a minus leaves one out, OR wants one of several,
// quotes hold several together. Which words are one tag without quotes is for the server to say.
const TERM = /([-−–])?(?:["“”„]((?:\\.|[^"“”„\\])*)["“”„]|([^\s,]+))/suy;

/** [{text, wanted, joined, start, end}] of a query; parts that are not finished (a lone minus, an open quote) are left out. */
export function terms(query) {
  const found = [];
  let joined = false;
  TERM.lastIndex = 0;
  for (let at = 0; at < query.length; ) {
    if (/[\s,]/u.test(query[at])) {
      at++;
      continue;
    }
    TERM.lastIndex = at;
    const match = TERM.exec(query);
    if (!match) break;
    const text = match[2] !== undefined ? match[2].replace(/\\(.)/gsu, "$1") : match[3];
    const lone = match[2] === undefined && (/^["“”„]/u.test(text) || /^[-−–]$/u.test(text));
    const start = at;
    at = TERM.lastIndex;
    if (match[2] === undefined && match[1] === undefined && /^(OR|\|)$/u.test(text)) {
      joined = found.length > 0;
    } else if (!lone && text.trim()) {
      found.push({ text, wanted: match[1] === undefined, joined, start, end: at });
      joined = false;
    }
  }
  return found;
}

/** A word as it must be written in a query. */
export function written({ text, wanted }) {
  const plain = /^(?!(?:OR|\|)$)[^\s,"“”„−–-][^\s,]*$/u.test(text);
  return (wanted ? "" : "-") + (plain ? text : `"${text.replace(/(["“”„\\])/gu, "\\$1")}"`);
}

export const queryOf = (words) => words.map((word, i) => (i ? (word.joined ? " OR " : " ") : "") + written(word)).join("");

/** The words without one of them; what it began to be an alternative to stands by itself. */
export const without = (words, i) => words.flatMap((word, at) => (at === i ? [] : [at === i + 1 && !words[i].joined ? { ...word, joined: false } : word]));

/** The term that ends at the caret, for autocompletion. */
export function termAt(query, caret) {
  const head = query.slice(0, caret), start = head.search(/[^\s,]*$/u);
  const open = /(?:^|[\s,])([-−–]?)["“”„]([^"“”„]*)$/u.exec(head);
  const from = open ? open.index + (/^[\s,]/u.test(open[0]) ? 1 : 0) : start;
  const piece = head.slice(from), minus = /^[-−–]/u.test(piece);
  return {
    typed: piece.replace(/^[-−–]?["“”„]?/u, ""),
    replace: (word) => `${query.slice(0, from)}${written({ text: word, wanted: !minus })} ${query.slice(caret).trimStart()}`,
  };
}
