// The environment variables of the email channel.
import { parseTimeout, type SettingsReader, timeoutWanted } from '../../core/settings-reader.ts';

export interface EmailConfig {
  /** smtp: or smtps:, with user name and password where needed. */
  url: URL;
  from: string;
  timeoutMs: number;
}

export function readEmailConfig(read: SettingsReader): EmailConfig | null {
  const url = read.secret('TOCSIN_SMTP_URL', 'an address that begins with smtp: or smtps:', (text) =>
    /^smtps?:$/.test(URL.parse(text)?.protocol ?? '') && new URL(text).hostname !== '' ? new URL(text) : undefined,
  );
  const wanted = 'an address such as tocsin@example.com or "Tocsin <tocsin@example.com>"';
  const from = read.value<string | null>('TOCSIN_EMAIL_FROM', null, wanted, (text) =>
    /^([^@<>,\p{Cc}]*<[^\s@<>,]+@[^\s@<>,]+>|[^\s@<>,]+@[^\s@<>,]+)$/u.test(text) ? text : undefined,
  );
  const timeoutMs = read.value('TOCSIN_EMAIL_TIMEOUT_MS', 8000, timeoutWanted, parseTimeout);
  if (url === null) return null;
  if (from === null) read.problem('TOCSIN_EMAIL_FROM is required with TOCSIN_SMTP_URL: the sender address of emails.');
  return { url, from: from ?? '', timeoutMs };
}
