// The WordPress coding standard over the plugin, as far as it can be had: see phpcs.xml.dist.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { canRun, type Obstacle, obstacleIn } from '@tocsin/test-support/requires.ts';
import { codingStandard, pluginFolder } from './support/wordpress-files.ts';

const rules = fileURLToPath(new URL('../phpcs.xml.dist', import.meta.url));

function obstacle(): Obstacle {
  if (!existsSync(codingStandard)) return `there is no WordPress coding standard in ${codingStandard}`;
  return obstacleIn('phpcs', ['--version']);
}

/** One line per complaint. */
function complaints(args: string[], input = ''): string[] {
  // The standard is older than the PHP that runs it: what PHP deprecates in it is not ours to mend.
  const fixed = ['-d', 'error_reporting=1', '--runtime-set', 'installed_paths', codingStandard, `--standard=${rules}`];
  const { stdout, stderr, status } = spawnSync('phpcs', [...fixed, '-s', '--report=emacs', ...args], {
    encoding: 'utf8',
    input,
  });
  assert.ok(status === 0 || /: (error|warning) - /.test(stdout), `phpcs ended with ${status}: ${stdout}${stderr}`);
  return stdout.split('\n').filter((line) => line !== '');
}

test('the plugin keeps to the WordPress coding standard', (t) => {
  if (!canRun(t, obstacle())) return;
  assert.deepEqual(complaints(['--parallel=2', pluginFolder]), []);
});

test('the standard does find unescaped output, missing nonces, loose SQL and foreign text domains', (t) => {
  if (!canRun(t, obstacle())) return;
  const sins = `<?php
echo $_GET['a'];
$wpdb->query( "DELETE FROM x WHERE a = $b" );
update_option( 'a', $_POST['a'] );
__( 'Text', 'another' );
function unprefixed() {}
    eval( 'spaces' );
`;
  const found = complaints(['--stdin-path=sins.php', '-'], sins).join('\n');
  for (const sniff of [
    'Security.EscapeOutput.OutputNotEscaped',
    'Security.NonceVerification.Missing',
    'Security.NonceVerification.Recommended',
    'Security.ValidatedSanitizedInput.InputNotSanitized',
    'DB.PreparedSQL.NotPrepared',
    'WP.I18n.TextDomainMismatch',
    'NamingConventions.PrefixAllGlobals',
    'Generic.WhiteSpace.DisallowSpaceIndent',
  ]) {
    assert.ok(found.includes(sniff), `${sniff} is not in\n${found}`);
  }
});
