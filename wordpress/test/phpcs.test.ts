// Checks the plugin against the WordPress coding standard; see phpcs.xml.dist for its version.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { canRun, type Obstacle, obstacleIn } from '@tocsin/test-support/requires.ts';
import { codingStandard, pluginFolder } from './support/wordpress-files.ts';

const rules = fileURLToPath(new URL('../phpcs.xml.dist', import.meta.url));

function obstacle(): Obstacle {
  if (!existsSync(codingStandard)) return `WordPress coding standard not found in ${codingStandard}`;
  return obstacleIn('phpcs', ['--version']);
}

/** Returns the violations, one per line. */
function violationsIn(args: string[], input = ''): string[] {
  // The standard is older than this PHP, so deprecation warnings about its own code are suppressed.
  const fixed = ['-d', 'error_reporting=1', '--runtime-set', 'installed_paths', codingStandard, `--standard=${rules}`];
  const { stdout, stderr, status } = spawnSync('phpcs', [...fixed, '-s', '--report=emacs', ...args], {
    encoding: 'utf8',
    input,
  });
  assert.ok(status === 0 || /: (error|warning) - /.test(stdout), `phpcs exited with ${status}: ${stdout}${stderr}`);
  return stdout.split('\n').filter((line) => line !== '');
}

test('the plugin complies with the WordPress coding standard', (t) => {
  if (!canRun(t, obstacle())) return;
  assert.deepEqual(violationsIn(['--parallel=2', pluginFolder]), []);
});

test('the standard detects unescaped output, missing nonces, unprepared SQL and wrong text domains', (t) => {
  if (!canRun(t, obstacle())) return;
  const violations = `<?php
echo $_GET['a'];
$wpdb->query( "DELETE FROM x WHERE a = $b" );
update_option( 'a', $_POST['a'] );
__( 'Text', 'another' );
function unprefixed() {}
    eval( 'spaces' );
`;
  const found = violationsIn(['--stdin-path=violations.php', '-'], violations).join('\n');
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
