// Translation template: node wordpress/build/translations.ts → wordpress/tocsin/languages/tocsin.pot
import { execFileSync } from 'node:child_process';
import { pluginFolder, wpCli } from '../test/support/wordpress-files.ts';

export const translationFile = `${pluginFolder}/languages/tocsin.pot`;

/** Writes the template without dates and line numbers, so that it changes only with the texts. */
export function writeTranslations(file: string): void {
  const headers = { 'POT-Creation-Date': '', 'PO-Revision-Date': '', 'Report-Msgid-Bugs-To': '' };
  const comment = '--file-comment=Texts of the WordPress companion of Tocsin, for translators.';
  const options = [
    '--domain=tocsin',
    '--slug=tocsin',
    '--no-location',
    comment,
    `--headers=${JSON.stringify(headers)}`,
  ];
  const php = ['-d', 'memory_limit=512M', wpCli, '--allow-root', '--quiet'];
  execFileSync('php', [...php, 'i18n', 'make-pot', pluginFolder, file, ...options], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}

if (import.meta.main) writeTranslations(translationFile);
