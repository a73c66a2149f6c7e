// The commands in the guides do what the guides say, run in their order on a real installation.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { install } from '@tocsin/test-support/install.ts';

const root = new URL('../../../', import.meta.url);

/** The arguments of every command with this prefix, in code blocks and between backticks. */
function commandsIn(document: string, prefix: RegExp): string[][] {
  const text = readFileSync(fileURLToPath(new URL(document, root)), 'utf8');
  return [...text.matchAll(new RegExp(`${prefix.source} ([^\`\\n]+)`, prefix.flags))].map(([, rest = '']) =>
    rest.split(' '),
  );
}

suite('The commands of the guides', () => {
  test('docs/owners.md: each works as written if there are two owners', async (t) => {
    const installation = await install(t);
    await installation.json('owner', 'create', '--name', 'First owner', '--role', 'operator');
    const commands = commandsIn('docs/owners.md', /npx tocsin/g);
    assert.ok(commands.length >= 6);
    const values: Record<string, string> = { TOKEN: 'a-token-of-an-app-0123456789abcdef', ADDRESS: 'ann@example.com' };
    for (const words of commands) {
      const args = words.map((word) => values[word] ?? word);
      const { exitCode, stdout, stderr } = await installation.run(args, { TOCSIN_CONSOLE_PORT: '8081' });
      assert.equal(exitCode, 0, `${words.join(' ')}: ${stderr}`);
      values.OWNERID ??= /\bown_\w+/.exec(stdout)?.[0] as string;
    }
    const owners = await installation.json<{ id: string; name: string }[]>('owner', 'list');
    assert.equal(owners.find(({ id }) => id === values.OWNERID)?.name, 'Household');
  });

  for (const [way, prefix] of [
    ['systemd', /^tocsin/gm],
    ['Docker', /^\$ docker compose exec tocsin tocsin(?! backup)/gm],
    ['the reference deployment', /^\$ docker compose -f deploy\/compose\.cluster\.yaml exec tocsin-1 tocsin/gm],
  ] as const) {
    test(`docs/deployment.md: ${way} begins with an operator who can sign in and a key`, async (t) => {
      const installation = await install(t, { TOCSIN_FIRST_RUN: 'off' });
      await (await installation.serve()).stop();
      const shown: string[] = [];
      for (const args of commandsIn('docs/deployment.md', prefix)) {
        const { exitCode, stdout, stderr } = await installation.run(args, { TOCSIN_CONSOLE_PORT: '8081' });
        if (args[0] !== 'doctor') assert.equal(exitCode, 0, `${args.join(' ')}: ${stderr}`);
        shown.push(stdout);
      }
      const [owner, ...others] = await installation.json<{ role: string }[]>('owner', 'list');
      assert.deepEqual([owner?.role, others], ['operator', []]);
      assert.match(shown.join('\n'), /http:\/\/localhost:8081\/sign-in#/);
      assert.match(shown.join('\n'), /svc_/);
    });
  }
});
