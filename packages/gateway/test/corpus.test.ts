// The payload corpus itself: complete, well-formed, and labelled before any preset reads it.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { limits, severities } from '@tocsin/contract/fields';
import {
  type BodyFile,
  listBodyFiles,
  readBodyFile,
  readCorpus,
  readLabels,
  readPublishedExamples,
  readRequest,
  senders,
} from './corpus/read-corpus.ts';

/** Sender with a preset → bodies that must at least be labelled, firing and resolved ones among them. */
const required: Record<string, string[]> = {
  alertmanager: ['firing-one-critical', 'firing-two-warning', 'resolved-one', 'firing-and-resolved'],
  'aws-sns': ['subscription-confirmation', 'notification-with-subject', 'cloudwatch-alarm', 'cloudwatch-ok'],
  'azure-devops': [
    'build-complete-failed',
    'build-complete-succeeded',
    'pullrequest-created',
    'push',
    'workitem-created',
  ],
  bitbucket: ['repo-push', 'pullrequest-created', 'pullrequest-fulfilled', 'commit-status-failed', 'server-pr-opened'],
  cloudevents: ['structured', 'binary', 'batch'],
  datadog: ['default-triggered', 'default-recovered', 'custom-triggered', 'custom-recovered'],
  discord: ['content', 'embed-red', 'embed-green', 'multipart-payload-json'],
  'docker-hub': ['push-latest'],
  gitea: ['push', 'issues-opened', 'issues-closed', 'pull-request-merged', 'workflow-run-failure', 'push-form-encoded'],
  github: ['issues-closed', 'pull-request-merged', 'workflow-run-failure', 'push-form-encoded'],
  gitlab: [
    'push',
    'issue-open',
    'issue-close',
    'merge-request-merge',
    'pipeline-failed',
    'pipeline-success',
    'job-failed',
  ],
  grafana: ['firing', 'resolved', 'no-data', 'test'],
  healthchecks: ['down', 'up'],
  'home-assistant': ['rest-post-json', 'rest-post-form', 'rest-without-title'],
  'jellyfin-plex': ['jellyfin-item-added', 'plex-media-play', 'plex-media-scrobble'],
  jenkins: ['started', 'finalized-success', 'finalized-failure', 'finalized-unstable'],
  linear: ['issue-create', 'issue-update-completed', 'comment-create'],
  netdata: ['alert-warning', 'alert-critical', 'alert-clear', 'unreachable', 'reachable'],
  'new-relic': ['activated-critical', 'closed'],
  opsgenie: ['create-p1', 'close-p1', 'webhook-create', 'webhook-close'],
  pagerduty: ['trigger-critical', 'acknowledge', 'resolve-without-payload', 'webhook-incident-resolved'],
  proxmox: ['backup-failed', 'backup-successful', 'test'],
  sentry: ['event-alert-error', 'metric-alert-critical', 'metric-alert-resolved', 'issue-created', 'issue-resolved'],
  servarr: [
    'sonarr-grab',
    'sonarr-health-warning',
    'sonarr-health-restored',
    'radarr-download',
    'lidarr-download',
    'prowlarr-grab',
  ],
  shopify: ['orders-create', 'orders-cancelled'],
  slack: ['text', 'attachment-danger', 'attachment-good', 'blocks-only', 'form-payload'],
  'standard-webhooks': ['user-created', 'invoice-payment-failed'],
  stripe: ['payment-intent-failed', 'payment-intent-succeeded', 'charge-dispute-created', 'charge-succeeded-test-mode'],
  teams: ['message-card-red', 'adaptive-card-attention'],
  'uptime-kuma': ['down', 'up', 'test', 'down-multipart'],
  zabbix: ['problem-high', 'resolved-high'],
};

/** Senders whose body says that a problem began or ended. */
const withStatus = [
  'alertmanager',
  'aws-sns',
  'azure-devops',
  'bitbucket',
  'datadog',
  'gitea',
  'github',
  'gitlab',
  'grafana',
  'healthchecks',
  'jenkins',
  'netdata',
  'new-relic',
  'opsgenie',
  'pagerduty',
  'sentry',
  'servarr',
  'stripe',
  'uptime-kuma',
  'zabbix',
];

suite('payload corpus', () => {
  test('at least 300 bodies have a label, 130 of them from GitHub and 20 from GitLab', () => {
    assert.ok(readCorpus().length >= 300);
    assert.ok(readLabels('github').length >= 130);
    assert.ok(readLabels('gitlab').length >= 20);
  });

  test('every sender with a preset has its main events', () => {
    assert.deepEqual(
      senders.filter((sender) => sender !== 'generic'),
      Object.keys(required).sort(),
    );
    for (const [sender, names] of Object.entries(required)) {
      const labelled = readLabels(sender).map(({ body }) => body);
      for (const name of names) assert.ok(labelled.includes(`${name}.json`), `${sender}/${name}.json`);
    }
  });

  test('every event that GitHub published an example of has a label', () => {
    const labelled = new Set(readLabels('github').map(({ body }) => body.split('/')[2]));
    const events = new Set(readPublishedExamples().map(({ event }) => event));
    assert.ok(events.size >= 58);
    assert.deepEqual(
      [...events].filter((event) => !labelled.has(event)),
      [],
    );
  });

  test('every label names one body, and every body has one label', () => {
    for (const sender of senders) {
      const named = readLabels(sender).map(({ body }) => body);
      assert.equal(new Set(named).size, named.length, `${sender}: a body has two labels`);
      const files = named.filter((body) => !body.startsWith('@'));
      assert.deepEqual(files.toSorted(), listBodyFiles(sender), sender);
      for (const body of named) assert.ok(readRequest(sender, body).body.length > 0, `${sender}/${body}`);
    }
  });

  test('every body has a source, a content type and one kind of content', () => {
    for (const sender of senders) {
      for (const name of listBodyFiles(sender)) {
        const file = readBodyFile(sender, name);
        const kinds = (['json', 'form', 'multipart', 'text'] satisfies (keyof BodyFile)[]).filter(
          (kind) => kind in file,
        );
        assert.equal(kinds.length, 1, `${sender}/${name}`);
        assert.match(file.source, /^https:\/\//, `${sender}/${name}`);
        assert.ok(file.headers['content-type'], `${sender}/${name}`);
        for (const header of Object.keys(file.headers)) assert.equal(header, header.toLowerCase(), `${sender}/${name}`);
      }
    }
  });

  test('multipart, form and query are sent as the senders send them', () => {
    const multipart = readRequest('discord', 'multipart-payload-json.json');
    assert.equal(multipart.path, '?wait=true');
    assert.match(multipart.headers['content-type'] ?? '', /^multipart\/form-data; boundary=\S+$/);
    assert.match(multipart.body.toString(), /name="payload_json"\r\n\r\n\{.*\}\r\n--/);
    const form = new URLSearchParams(readRequest('github', 'push-form-encoded.json').body.toString());
    assert.equal(JSON.parse(form.get('payload') ?? '').ref, 'refs/heads/main');
    assert.equal(readRequest('opsgenie', 'close-p1.json').path, '/v2/alerts/payments-down/close?identifierType=alias');
  });

  test('labels use the vocabulary of the contract', () => {
    for (const { sender, label } of readCorpus()) {
      const name = `${sender}/${label.body}`;
      assert.ok(label.title.length > 0 && label.title.every((fragment) => fragment.trim() !== ''), name);
      assert.ok(
        label.title.join(' ').length <= limits.titleCharacters,
        `${name}: the fragments do not fit into a title`,
      );
      assert.ok(label.severity === null || severities.includes(label.severity), name);
      assert.ok(label.url === null || /^https?:$/.test(new URL(label.url).protocol), name);
      assert.ok(label.thread === null || label.thread.trim() !== '', name);
      assert.ok([null, 'firing', 'resolved'].includes(label.status), name);
    }
  });

  test('what is resolved belongs to a thread and is not severe', () => {
    for (const { sender, label } of readCorpus()) {
      if (label.status !== 'resolved') continue;
      assert.notEqual(label.thread, null, `${sender}/${label.body}`);
      assert.ok(label.severity === null || label.severity === 'info', `${sender}/${label.body}`);
    }
  });

  test('senders that report problems have a thread that fires and is resolved', () => {
    for (const sender of withStatus) {
      const labels = readLabels(sender);
      const threads = (status: string) => labels.filter((label) => label.status === status).map(({ thread }) => thread);
      const resolved = new Set(threads('resolved'));
      assert.ok(
        threads('firing').some((thread) => thread !== null && resolved.has(thread)),
        sender,
      );
    }
  });
});
