// Reads the payload corpus (README.md in this folder): requests as senders send them, and the labels of a reader.
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import type { Severity } from '@tocsin/contract/fields';

export interface Label {
  /** A file beside the labels, or `@octokit/webhooks-examples/EVENT/INDEX`. */
  body: string;
  /** Each of these must be in the title, in any order and case. */
  title: string[];
  severity: Severity | null;
  url: string | null;
  /** Labels of one sender with equal values are about the same thing and must get one `threadKey`. */
  thread: string | null;
  status: 'firing' | 'resolved' | null;
}

export interface Part {
  name: string;
  filename?: string;
  contentType?: string;
  value: unknown;
}

/** A body as its file has it: exactly one of `json`, `form`, `multipart` and `text`. */
export interface BodyFile {
  source: string;
  path?: string;
  query?: Record<string, string>;
  headers: Record<string, string>;
  json?: unknown;
  form?: Record<string, unknown>;
  multipart?: Part[];
  text?: string;
}

/** A request to an address of a hook. `path` is what follows the token, with the query. */
export interface SentRequest {
  path: string;
  headers: Record<string, string>;
  body: Buffer;
}

export interface CorpusEntry {
  sender: string;
  label: Label;
  request: SentRequest;
}

interface PublishedEvent {
  name: string;
  examples: unknown[];
}

const folder = import.meta.dirname;
const packageName = '@octokit/webhooks-examples';
const boundary = 'corpus-boundary-7d1f';

export const senders: string[] = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .sort();

export function readLabels(sender: string): Label[] {
  return readJson(join(folder, sender, 'labels.json')) as Label[];
}

/** The names of the body files of a sender. */
export function listBodyFiles(sender: string): string[] {
  return globSync('*.json', { cwd: join(folder, sender) })
    .filter((name) => name !== 'labels.json')
    .sort();
}

export function readBodyFile(sender: string, name: string): BodyFile {
  return readJson(join(folder, sender, basename(name))) as BodyFile;
}

/** Every labelled request of every sender. */
export function readCorpus(): CorpusEntry[] {
  return senders.flatMap((sender) =>
    readLabels(sender).map((label) => ({ sender, label, request: readRequest(sender, label.body) })),
  );
}

/** The request that a label names. */
export function readRequest(sender: string, body: string): SentRequest {
  if (!body.startsWith(`${packageName}/`)) return toRequest(readBodyFile(sender, body));
  const [event = '', index = ''] = body.slice(packageName.length + 1).split('/');
  const example = published().find(({ name }) => name === event)?.examples[Number(index)];
  if (example === undefined) throw new Error(`${packageName} has no example ${event}/${index}`);
  return toRequest(fromGitHub(event, Number(index), example));
}

/** All examples that GitHub published, the ones without a label too. */
export function readPublishedExamples(): { event: string; index: number; request: SentRequest }[] {
  return published().flatMap(({ name, examples }) =>
    examples.map((example, index) => ({ event: name, index, request: toRequest(fromGitHub(name, index, example)) })),
  );
}

export function toRequest(file: BodyFile): SentRequest {
  const query = new URLSearchParams(file.query).toString();
  const path = `${file.path ?? ''}${query === '' ? '' : `?${query}`}`;
  if (file.multipart === undefined) return { path, headers: file.headers, body: Buffer.from(serialize(file)) };
  const headers = { ...file.headers, 'content-type': `multipart/form-data; boundary=${boundary}` };
  return { path, headers, body: Buffer.from(serializeParts(file.multipart)) };
}

function serialize(file: BodyFile): string {
  if (file.text !== undefined) return file.text;
  if (file.form === undefined) return JSON.stringify(file.json);
  return new URLSearchParams(Object.entries(file.form).map(([name, value]) => [name, asText(value)])).toString();
}

function serializeParts(parts: Part[]): string {
  const lines = parts.flatMap(({ name, filename, contentType, value }) => [
    `--${boundary}`,
    `Content-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}`,
    ...(contentType === undefined ? [] : [`Content-Type: ${contentType}`]),
    '',
    asText(value),
  ]);
  return [...lines, `--${boundary}--`, ''].join('\r\n');
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function fromGitHub(event: string, index: number, example: unknown): BodyFile {
  return {
    source: packageName,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'GitHub-Hookshot/0000001',
      'x-github-event': event,
      'x-github-delivery': `${event}-${index}`,
    },
    json: example,
  };
}

let examples: PublishedEvent[] | undefined;

function published(): PublishedEvent[] {
  examples ??= readJson(
    createRequire(import.meta.url).resolve(`${packageName}/api.github.com/index.json`),
  ) as PublishedEvent[];
  return examples;
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}
