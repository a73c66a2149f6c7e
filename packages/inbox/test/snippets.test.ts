// Runs the snippets of the keys page unchanged against the real service.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, suite, test } from 'node:test';
import { type GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { canRun, type Obstacle, obstacleIn } from '@tocsin/test-support/requires.ts';
import { parse } from 'yaml';
import { type SnippetKey, type SnippetLanguage, snippetGenerators } from '../src/pages/keys/snippets.ts';

/** Contains every character that is special in shells, string literals or templates. */
const label = `it's "quoted" \\ $HOME \`id\` \${x} {$x} %s !! é ✓ </script> #`;

interface Run {
  command: string;
  args: (program: string) => string[];
  obstacle: () => Obstacle;
  title: string;
  source: string;
}

const runs: Record<SnippetLanguage, Run> = {
  curl: shell('bash', 'Hello from curl', label),
  javascript: {
    command: process.execPath,
    args: (program) => ['-e', program],
    obstacle: () => null,
    title: 'Hello from JavaScript',
    source: label,
  },
  python: {
    command: 'python3',
    args: (program) => ['-c', program],
    obstacle: () => obstacleIn('python3', ['--version']),
    title: 'Hello from Python',
    source: label,
  },
  php: {
    command: 'php',
    args: (program) => ['-r', program.replace('<?php', '')],
    obstacle: () => obstacleIn('php', ['--version']),
    title: 'Hello from PHP',
    source: label,
  },
  github: {
    ...shell('bash', 'Nightly failed', 'github'),
    args: (step) => ['-e', '-o', 'pipefail', '-c', (parse(step) as [{ run: string }])[0].run],
    obstacle: () => obstacleIn('jq', ['--version']) ?? obstacleIn('curl', ['--fail-with-body', '--version']),
  },
};

function shell(command: string, title: string, source: string): Run {
  const obstacle = (): Obstacle => obstacleIn('curl', ['--version']) ?? obstacleIn('openssl', ['version']);
  return { command, args: (program) => ['-c', program], obstacle, title, source };
}

suite('The snippets for a key work when pasted', () => {
  let installation: Installation;
  let gateway: GatewayProcess;
  const keys: Record<'plain' | 'signed', string> = { plain: '', signed: '' };

  before(async () => {
    installation = await Installation.create();
    gateway = await installation.serve();
    const owner = gateway.line.firstRun?.owner ?? '';
    keys.plain = gateway.key;
    const signed = await installation.json('key', 'create', '--owner', owner, '--require-signature');
    keys.signed = signed.key ?? '';
  });
  after(() => installation.remove());

  for (const [language, run] of Object.entries(runs) as [SnippetLanguage, Run][]) {
    for (const kind of ['plain', 'signed'] as const) {
      test(`${language} with a ${kind} key`, async (t) => {
        if (!canRun(t, run.obstacle())) return;
        const key: SnippetKey = {
          apiUrl: gateway.api,
          value: keys[kind],
          requireSignature: kind === 'signed',
          label,
        };
        const output = await outputOf(run.command, run.args(snippetGenerators[language](key)), keys[kind]);
        assert.match(output, /(ok"?: true)|("ok":true)/);
        assert.deepEqual(await newest(installation), { title: run.title, source: run.source });
      });
    }
  }
});

async function newest(installation: Installation): Promise<{ title: unknown; source: unknown }> {
  const [first] = await installation.json<{ title: string; source: string }[]>('inbox', 'list', '--limit', '1');
  return { title: first?.title, source: first?.source };
}

/** Runs the command with the environment of a GitHub workflow. */
function outputOf(command: string, args: string[], key: string): Promise<string> {
  const env = {
    ...process.env,
    TOCSIN_KEY: key,
    GITHUB_WORKFLOW: 'Nightly',
    GITHUB_REPOSITORY: 'example/project',
    GITHUB_REF_NAME: 'main',
    GITHUB_SERVER_URL: 'https://github.com',
    GITHUB_RUN_ID: '7',
  };
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve(output) : reject(new Error(`${command} exited with ${code}: ${errors}${output}`)),
    );
  });
}
