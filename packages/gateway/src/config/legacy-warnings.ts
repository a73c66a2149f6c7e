// Warnings for installations that are older than a stricter default, logged at start and reported by doctor.

import { smtpTls, smtpTlsWarning } from '../core/smtp-tls.ts';
import type { Config } from './server.ts';

export function legacyWarnings(config: Pick<Config, 'email' | 'publicAddresses'>, isLegacy: boolean): string[] {
  const { email, publicAddresses } = config;
  // Only doctor reports settings that the operator chose.
  const isTlsChosen = email === null || smtpTls(email.url, isLegacy) !== 'optional until set';
  const warnings = [isTlsChosen ? null : smtpTlsWarning(email.url, isLegacy), hostWarning(publicAddresses, isLegacy)];
  return warnings.filter((warning) => warning !== null);
}

export function hostWarning({ consoleHosts }: Config['publicAddresses'], isLegacy: boolean): string | null {
  if (!isLegacy || consoleHosts !== null) return null;
  return (
    'The console accepts any host name, so a web page can read its metrics by DNS rebinding. Set ' +
    'TOCSIN_CONSOLE_HOSTS to the names that people and proxies use, separated by commas, or to * to keep it'
  );
}
