// Checks that text and identifiers use the terms of the trade (CONTRIBUTING.md, "Language"). Part of `npm run check`.
//   node scripts/check-words.mjs                      the whole project, except `unchecked`
//   node scripts/check-words.mjs packages/inbox/src   any file or folder
// Prints file:line: "word" → better word, and exits with 1 if it found any. Words are compared without regard to case, also
// inside camelCase, snake_case and kebab-case names and in file names; phrases also across a line break.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join, relative } from 'node:path';

/**
 * What to write instead → the forbidden words and phrases. `|` separates the forms of a word; `$` stands for the end of a
 * clause. A phrase after `except` is allowed although it contains a forbidden one.
 */
const forbidden = [
  { better: 'the caller, the owner, the operator, the client', words: ['whoever', 'whomever', 'whosoever'] },
  {
    better: 'no client, no owner, no process; or the passive voice',
    words: ['nobody'],
    except: ['user nobody', 'nobody nogroup'],
  },
  { better: 'a client, a user, another process', words: ['somebody'] },
  { better: 'again; re-encrypted, recreated', words: ['anew'] },
  { better: 'wake, make due now', words: ['hasten|hastens|hastened|hastening'] },
  { better: 'deliver, notify, report, inform, distinguish', words: ['tell|tells|told|telling'] },
  {
    better: 'deliver, notify, send; "push enabled" for a browser',
    words: ['ring|rings|rang|rung|ringing'],
    except: ['ring buffer', 'ring buffers', 'key ring', 'key rings', 'hash ring', 'focus ring', 'focus rings'],
  },
  { better: 'delivery status, outcome', words: ['what became of', 'became of', 'becomes of'] },
  { better: 'delay, defer, postpone', words: ['put|puts|putting off'] },
  { better: 'dead (retries exhausted), stop retrying', words: ['give|gives|giving|gave|given up'] },
  { better: 'orphaned, remaining', words: ['left|leave|leaves behind'] },
  { better: 'resume; occupy for space', words: ['take|takes|taken|took|taking up'] },
  { better: 'abort, cancel', words: ['call|calls|called|calling off'] },
  { better: 'byte for byte, verbatim', words: ['word for word'] },
  { better: 'deleted, expired, not any longer; "at most" for a limit', words: ['no more $'] },
  { better: 'disconnected, interrupted, closed, truncated', words: ['cut|cuts|cutting off'] },
  { better: 'cannot be decrypted', words: ['does not open', 'sealed anew'] },
  { better: 'default', words: ['unless told', 'unless said', 'unless given', 'unless asked'] },
  { better: 'in the future', words: ['a time to come', 'time to come'] },
  { better: 'email', words: ['e mail|mails|mailed|mailing'] },
  {
    better: 'email; "SMTP server" for a mail server',
    words: ['mail|mails|mailed|mailing'],
    // MAIL in capitals is the SMTP command and not checked.
    except: ['wp mail', 'php mail', 'mailing list', 'mailing lists'],
  },
  {
    better: 'response; "result" or "reply" outside HTTP',
    words: [
      'an|any|each|every|first|her|his|its|last|no|one|our|same|stored|that|the|their|this|wrong|your answer',
      'all|her|his|its|lost|our|same|the|their|these|those|two answers',
      'answer body|code|header|headers|status|time',
    ],
  },
  {
    better: 'email, message; "character" of a text',
    words: ['letter'],
    except: ['dead letter', 'capital|case|first|lower|lowercase|small|upper|uppercase letter', 'letter spacing'],
  },
  { better: 'applyQuietHours, mute', words: ['hush|hushed|hushes'] },
  { better: 'SMTP greeting, or mark as recovered', words: ['greet|greets|greeted|greetings'] },
  { better: 'yield to the event loop, pause', words: ['breath|breathe|breathes|breathing'] },
  { better: 'authorization', words: ['doorman'] },
  { better: 'worker pool', words: ['crew|crews'] },
  { better: 'relay, queue', words: ['desk|desks'], except: ['help desk'] },
  { better: 'retry quota', words: ['waiting room'] },
  { better: 'worker health', words: ['vitality'] },
  { better: 'counter', words: ['tally|tallies|tallied'] },
  { better: 'fallback', words: ['insurance|insure|insures'] },
  { better: 'the limit, the number', words: ['so many', 'so much'] },
  { better: 'the timeout; "while", "as long as"', words: ['so long'] },
  { better: 'notify, report', words: ['let|lets know', 'let|lets him|her|it|them|us|you know'] },
  { better: 'stale, outdated', words: ['of yesterday'] },
  { better: 'permission denied', words: ['this user may not'] },
  { better: 'too many', words: ['that were many'] },
];

/**
 * Released names, and words of other projects, that stay although they contain a forbidden word. `in` limits one to files
 * whose path begins with it.
 */
const released = [
  { text: /\/(?:api\/)?sign-in\/mail\b/, reason: 'released route of the console API' },
  { text: /\btest-mail\b/, reason: 'released route of the console API' },
  {
    text: /\bmail:|\.mail\b|'mail'|"mail"/,
    reason: 'released field or value of the console API',
  },
  { text: /\bmail(?:\.[a-z0-9-]+)+/, reason: 'host name, such as mail.example.com' },
  { text: /\bMAIL\b/, reason: 'SMTP command (RFC 5321)' },
  { text: /\b(?:onMailFrom|mailFrom)\b/, reason: 'smtp-server API' },
  { text: /\b(?:sendMail|SendMailOptions)\b/, reason: 'nodemailer API' },
  {
    text: /\btocsin_tell_of_changes\b|\bchanges_told\b/,
    in: 'packages/gateway/src/store/schema',
    reason: 'released trigger and its function',
  },
  { text: /\bgive_up_at\b/, reason: 'released column' },
  { text: /\bwpcf7_mail_(?:sent|failed)\b/, reason: 'hooks of Contact Form 7' },
  { text: /'mail_failed'/, reason: 'released id of a template of the WordPress companion' },
  { text: /\btocsin-ring-hint\b/, reason: 'key in the local storage of browsers' },
  {
    text: /what becomes of them/,
    in: 'packages/contract/fixtures/',
    reason: 'the fixtures of the contract are kept byte for byte',
  },
  { text: /\brung_at\b/, reason: 'key of a stored WordPress option' },
];

/** Files and folders of the project that are checked only if they are given as arguments. */
const unchecked = [
  { path: 'scripts/check-words.mjs', reason: 'lists the forbidden words' },
  { path: 'packages/gateway/test/check-words.test.ts', reason: 'tests the forbidden words' },
  { path: 'package-lock.json', reason: 'has the names of packages of other projects' },
  { path: 'data', reason: 'data directory of a server started in the clone, not in the repository' },
  { path: 'deploy/secrets', reason: 'secrets of a local deployment, not in the repository' },
  { path: 'bench/results', reason: 'output of the benchmarks, not in the repository' },
];
const skippedFolders = new Set(['node_modules', 'dist', '.git']);

/** A phrase as one set of allowed forms for each of its words: 'cut|cuts off' → [{cut, cuts}, {off}]. */
function parsePhrase(phrase) {
  return phrase.split(' ').map((forms) => new Set(forms.split('|')));
}

const rules = forbidden.map(({ better, words, except = [] }) => ({
  better,
  phrases: words.map(parsePhrase),
  exceptions: except.map(parsePhrase),
}));

/** First words of the phrases, so that most words of a text need one lookup. */
const rulesByFirstWord = new Map();
for (const { better, phrases, exceptions } of rules) {
  for (const phrase of phrases) {
    for (const word of phrase[0]) {
      rulesByFirstWord.set(word, [...(rulesByFirstWord.get(word) ?? []), { better, phrase, exceptions }]);
    }
  }
}

/** Line breaks, comment markers and the joints of names do not separate the words of a phrase; punctuation does. */
const joint = /^[\s_\-/*#>]*$/;

/** The words of a text in lower case, `oneName` and `other_name` taken apart. `isJoined`: belongs with the word before it. */
function wordsOf(text) {
  const words = [];
  let end = 0;
  let line = 1;
  for (const match of text.matchAll(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|\p{L}+/gu)) {
    const gap = text.slice(end, match.index);
    for (const character of gap) if (character === '\n') line += 1;
    words.push({ word: match[0].toLowerCase(), line, isJoined: joint.test(gap) });
    end = match.index + match[0].length;
  }
  return words;
}

function matchesAt(words, start, phrase) {
  return phrase.every((forms, offset) => {
    const next = words[start + offset];
    const isJoined = offset === 0 || next?.isJoined === true;
    return forms.has('$') ? !isJoined : isJoined && forms.has(next?.word);
  });
}

/** Whether one of the exceptions covers the words from `start` on. */
function isException(words, start, length, exceptions) {
  return exceptions.some((exception) => {
    for (let first = start - exception.length + 1; first <= start + length - 1; first++) {
      if (first >= 0 && matchesAt(words, first, exception)) return true;
    }
    return false;
  });
}

function findingsIn(text) {
  const words = wordsOf(text);
  const findings = [];
  let checkedUpTo = 0;
  for (let index = 0; index < words.length; index++) {
    for (const { better, phrase, exceptions } of rulesByFirstWord.get(words[index].word) ?? []) {
      if (index < checkedUpTo || !matchesAt(words, index, phrase)) continue;
      if (isException(words, index, phrase.length, exceptions)) continue;
      const found = words.slice(index, index + phrase.filter((forms) => !forms.has('$')).length);
      findings.push({ line: found[0].line, word: found.map(({ word }) => word).join(' '), better });
      checkedUpTo = index + found.length;
    }
  }
  return findings;
}

function withoutReleasedNames(path, text) {
  let rest = text;
  for (const { text: name, in: prefix = '' } of released) {
    if (path.startsWith(prefix)) rest = rest.replace(new RegExp(name, 'g'), (match) => '.'.repeat(match.length));
  }
  return rest;
}

function checkFile(path) {
  const inName = findingsIn(withoutReleasedNames(path, basename(path))).map((finding) => ({ ...finding, line: 0 }));
  const content = readFileSync(path, 'utf8');
  const isBinary = content.includes('\0');
  return isBinary ? inName : [...inName, ...findingsIn(withoutReleasedNames(path, content))];
}

const paths = process.argv.length > 2 ? process.argv.slice(2) : ['.'];
const isSkipped = (path) =>
  skippedFolders.has(basename(path)) || (!paths.includes(path) && unchecked.some((entry) => entry.path === path));

/** The files in a folder and below it, or the file itself. */
function filesOf(path) {
  const entry = statSync(path, { throwIfNoEntry: false });
  if (entry === undefined) {
    console.error(`${path}: no such file or folder`);
    process.exit(2);
  }
  if (!entry.isDirectory()) return [relative('.', path)];
  return readdirSync(path)
    .map((name) => join(path, name))
    .filter((child) => !isSkipped(child))
    .flatMap(filesOf);
}

const checked = [...new Set(paths.flatMap(filesOf))].sort();
let found = 0;
for (const file of checked) {
  for (const { line, word, better } of checkFile(file)) {
    console.log(line === 0 ? `${file}: file name: "${word}" → ${better}` : `${file}:${line}: "${word}" → ${better}`);
    found += 1;
  }
}
if (found > 0) {
  console.log(`${found} forbidden words. Names that must stay are listed with a reason in scripts/check-words.mjs.`);
  process.exitCode = 1;
}
