// The presets, measured against the labels of the payload corpus (corpus/README.md).
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { JsonObject, JsonValue, Severity } from '@tocsin/contract';
import { isIgnored, type Preset, type SenderRequest } from '../src/senders/event.ts';
import { autoPreset, choosePreset, presets, readEvent } from '../src/senders/presets/index.ts';
import { readEventBody } from '../src/senders/read-body.ts';
import { toRequest } from '../src/senders/to-request.ts';
import { type Label, readCorpus, readPublishedExamples, type SentRequest } from './corpus/read-corpus.ts';

/** The share of labels that must be right, per field; `chosen`: the preset `auto` recognizes the request. */
interface Shares {
  title: number;
  severity: number;
  url: number;
  thread: number;
  status: number;
  chosen: number;
}

const fields = ['title', 'severity', 'url', 'thread', 'status', 'chosen'] as const;
const all: Shares = { title: 1, severity: 1, url: 1, thread: 1, status: 1, chosen: 1 };

/** Preset → the smallest shares that pass. Every preset has a line. */
const minimum: Record<string, Shares> = {
  alertmanager: all,
  'aws-sns': all,
  cloudevents: all,
  'azure-devops': all,
  bitbucket: all,
  datadog: all,
  discord: all,
  'docker-hub': all,
  gitea: all,
  github: all,
  gitlab: all,
  grafana: all,
  healthchecks: all,
  'home-assistant': all,
  'jellyfin-plex': all,
  jenkins: all,
  linear: all,
  netdata: all,
  'new-relic': all,
  opsgenie: all,
  pagerduty: all,
  proxmox: all,
  sentry: all,
  servarr: all,
  shopify: all,
  slack: all,
  'standard-webhooks': all,
  stripe: all,
  teams: all,
  'uptime-kuma': all,
  zabbix: all,
};

const hookName = 'Hook of the test';

interface Outcome {
  title: string;
  severity: Severity | null;
  url: string | null;
  threadKey: string | null;
  isResolved: boolean;
  /** The name of the preset that `auto` chooses. */
  chosen: string | null;
}

interface Measured {
  sender: string;
  label: Label;
  outcome: Outcome;
}

const corpus = await Promise.all(
  readCorpus().map(async ({ sender, label, request }) => ({ sender, label, request: await toSenderRequest(request) })),
);

suite('presets', () => {
  test('every preset is measured', () => {
    assert.deepEqual(presets.map(({ name }) => name).sort(), Object.keys(minimum).sort());
  });

  for (const preset of presets) {
    test(`${preset.name}: titles, severities, links and threads are those of the labels`, (context) => {
      const measured = corpus
        .filter(({ sender }) => sender === preset.name)
        .map(({ sender, label, request }) => ({ sender, label, outcome: outcomeOf(preset, request) }));
      const wrong = measured.map((one) => ({ one, fields: wrongFields(one, measured) }));
      const shares = Object.fromEntries(
        fields.map((field) => [field, 1 - wrong.filter((one) => one.fields.includes(field)).length / wrong.length]),
      );
      context.diagnostic(
        `${preset.name} (${wrong.length}): ${fields.map((field) => percent(field, shares)).join(', ')}`,
      );
      const report = wrong
        .filter((one) => one.fields.length > 0)
        .map(({ one, fields }) => `${fields.join(', ')}: ${JSON.stringify(one)}`)
        .join('\n');
      for (const field of fields) {
        assert.ok((shares[field] ?? 0) >= (minimum[preset.name]?.[field] ?? 1), `${field}\n${report}`);
      }
    });
  }

  test('a member that is missing or of another type fails no preset', () => {
    const others: JsonValue[] = [null, -1, 'text', [null, 'text'], { name: [] }];
    for (const { sender, request } of corpus) {
      const preset = presets.find(({ name }) => name === sender);
      if (preset === undefined) continue;
      const { value } = request.body;
      for (const other of others) readSafely(preset, { ...request, body: { ...request.body, value: other } });
      forEachMember(value, 3, (holder, name) => {
        const original = holder[name] as JsonValue;
        for (const other of others) {
          holder[name] = other;
          readSafely(preset, request);
        }
        delete holder[name];
        readSafely(preset, request);
        holder[name] = original;
      });
    }
  });

  test('no preset takes the events of another sender', () => {
    for (const { label, request } of corpus.filter(({ sender }) => sender === 'generic')) {
      assert.equal(choosePreset(autoPreset, request), null, label.body);
    }
  });

  test('every example that GitHub published has a title of its own', async () => {
    for (const { event, index, request: sent } of readPublishedExamples()) {
      const request = await toSenderRequest(sent);
      const preset = choosePreset(autoPreset, request);
      assert.equal(preset?.name, 'github');
      assert.notEqual(outcomeOf(preset, request).title, hookName, `${event}/${index}`);
    }
  });
});

async function toSenderRequest({ path, headers, body }: SentRequest): Promise<SenderRequest> {
  const url = new URL(path, 'http://localhost/');
  return {
    method: 'POST',
    path: url.pathname.slice(1),
    query: url.searchParams,
    headers,
    body: await readEventBody(body, headers),
  };
}

/** The fields of the notification that a request becomes. */
function outcomeOf(preset: Preset, request: SenderRequest): Outcome {
  const event = readEvent(preset, request, (name, error) => assert.fail(`${name}: ${error}`));
  const chosen = choosePreset(autoPreset, request)?.name ?? null;
  if (isIgnored(event)) return { title: '', severity: null, url: null, threadKey: null, isResolved: false, chosen };
  const hook = { name: hookName, severity: null, disabledChannels: [] };
  const { title, severity } = toRequest(event, request, hook).content;
  const isResolved = event.resolved === true;
  return { title, severity, url: event.clickUrl ?? null, threadKey: event.threadKey ?? null, isResolved, chosen };
}

function wrongFields({ sender, label, outcome }: Measured, measured: readonly Measured[]): (keyof Shares)[] {
  const title = outcome.title.toLowerCase();
  const isRight: Record<keyof Shares, boolean> = {
    title: label.title.every((fragment) => title.includes(fragment.toLowerCase())),
    severity: outcome.severity === label.severity,
    url: outcome.url === label.url,
    thread: hasThreadOfLabel(label, outcome, measured),
    status: outcome.isResolved === (label.status === 'resolved'),
    chosen: outcome.chosen === sender,
  };
  return fields.filter((field) => !isRight[field]);
}

/** Equal threads have equal keys, different threads different keys, and no thread no key. */
function hasThreadOfLabel(label: Label, outcome: Outcome, measured: readonly Measured[]): boolean {
  if (label.thread === null || outcome.threadKey === null) return label.thread === outcome.threadKey;
  return measured.every(
    (other) => (other.label.thread === label.thread) === (other.outcome.threadKey === outcome.threadKey),
  );
}

function percent(field: keyof Shares, shares: Record<string, number>): string {
  return `${field} ${((shares[field] ?? 0) * 100).toFixed(1)} %`;
}

function readSafely(preset: Preset, request: SenderRequest): void {
  preset.matches(request);
  preset.read(request);
}

/** Objects and arrays; of an array, only its first item. */
function forEachMember(value: JsonValue, depth: number, visit: (holder: JsonObject, name: string) => void): void {
  if (depth === 0 || value === null || typeof value !== 'object') return;
  const holder = value as JsonObject;
  for (const name of Array.isArray(value) ? ['0'] : Object.keys(value)) {
    if (!(name in holder)) continue;
    visit(holder, name);
    forEachMember(holder[name] as JsonValue, depth - 1, visit);
  }
}
