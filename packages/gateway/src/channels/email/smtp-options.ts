// The address of the SMTP server → what nodemailer is given. Nothing else of the address counts: an option such as
// ?tls.rejectUnauthorized=false, which nodemailer itself would read from it, has no effect.
import { domainToASCII } from 'node:url';
import type { SMTPTransportOptions } from 'nodemailer';
import { isEncryptedFromStart, type SmtpTls } from '../../core/smtp-tls.ts';

/** Certificate authorities in PEM form to trust instead of those that Node knows. */
export interface Trust {
  ca: string;
}

export interface SmtpSettings {
  url: URL;
  timeoutMs: number;
  tls: SmtpTls;
}

export function smtpOptions({ url, timeoutMs, tls }: SmtpSettings, trust?: Trust): SMTPTransportOptions {
  const user = decode(url.username);
  return {
    host: hostOf(url),
    ...(url.port !== '' && { port: Number(url.port) }),
    secure: isEncryptedFromStart(url),
    requireTLS: tls === 'required',
    ...(user !== '' && { auth: { user, pass: decode(url.password) } }),
    tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2', ...trust },
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    logger: false,
  };
}

/** For schemes it does not know, URL leaves brackets, percent signs and letters beyond ASCII in the host. */
function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : domainToASCII(decode(hostname));
}

/** A stray percent sign in a password stands for itself. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
