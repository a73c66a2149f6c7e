// Errors of nodemailer → outcomes. Of a reply of the server only the number is reported, since its text may quote
// addresses, the email or the credentials.
import type { NotSent } from '../../core/outcome.ts';

export interface Failure {
  outcome: NotSent;
  /** What the operator can do about it. */
  fix: string;
}

/** The fields of an error of nodemailer that matter; everything else in it is left alone. */
interface SmtpError {
  code: string;
  /** What Node or OpenSSL called it, such as ECONNREFUSED or CERT_HAS_EXPIRED. */
  cause: string;
  /** The three digits that the server answered with; 0 when it did not answer. */
  reply: number;
  command: string;
}

const checkServer = 'Check the address in TOCSIN_SMTP_URL, and that the SMTP server runs and lets this machine in';
const checkSignIn = 'Check the user name and password in TOCSIN_SMTP_URL';

export function explain(error: unknown): Failure {
  const smtp = readError(error);
  if (smtp.code === 'EAUTH' || smtp.code === 'ENOAUTH') return explainSignIn(smtp);
  return smtp.reply === 0 ? explainSilence(smtp) : explainReply(smtp);
}

export function unreachable(error: string, fix = checkServer): Failure {
  return { outcome: { kind: 'retry', reason: 'unreachable', error }, fix };
}

function explainSignIn({ reply }: SmtpError): Failure {
  return isTemporary(reply)
    ? unreachable(`The SMTP server could not check the user name and password (${reply})`, 'Try again later')
    : unreachable('The SMTP server did not accept the user name and password', checkSignIn);
}

function explainReply({ reply, command }: SmtpError): Failure {
  if (reply === 421) return unreachable('The SMTP server is not available (421)');
  if (reply === 530) {
    const error = 'The SMTP server wants encryption, or a user name and password, first (530)';
    return unreachable(error, 'Use smtps: or add user name and password in TOCSIN_SMTP_URL');
  }
  if (command === 'RCPT TO') return refused('recipient', reply);
  if (command === 'DATA') return refused('message', reply);
  if (command === 'MAIL FROM') {
    // All email has the same sender, so every email fails; once the setting is fixed, this one is sent, too.
    return isTemporary(reply)
      ? refused('sender', reply)
      : unreachable(`The SMTP server refused the sender (${reply})`, 'Check TOCSIN_EMAIL_FROM');
  }
  if (command === 'STARTTLS') return notEncrypted();
  return unreachable(`The SMTP server is not available (${reply})`);
}

function refused(what: 'recipient' | 'message' | 'sender', reply: number): Failure {
  if (isTemporary(reply)) {
    const error = `The SMTP server does not take the ${what} at the moment (${reply})`;
    return { outcome: { kind: 'retry', reason: 'deferred', error }, fix: 'Try again later' };
  }
  return {
    outcome: { kind: 'rejected', reason: 'refused', error: `The SMTP server refused the ${what} (${reply})` },
    fix: checkServer,
  };
}

/** 503 is about the order of commands, not about the email: on a new connection the same email may be accepted. */
function isTemporary(reply: number): boolean {
  return (reply > 0 && reply < 500) || reply === 503;
}

function explainSilence({ code, cause }: SmtpError): Failure {
  const detail = cause === '' ? '' : ` (${cause})`;
  if (/CERT|SIGNATURE|ALTNAME/.test(cause)) {
    const fix = 'Use the host name that the certificate is for; name an authority of your own in NODE_EXTRA_CA_CERTS';
    return unreachable(`The certificate of the SMTP server was not accepted${detail}`, fix);
  }
  if (code === 'ETLS' || /^(EPROTO$|ERR_SSL|ERR_TLS)/.test(cause)) return notEncrypted(detail);
  if (code === 'EDNS') return unreachable(`The name of the SMTP server was not found${detail}`);
  if (code === 'ETIMEDOUT') return unreachable('The SMTP server did not respond in time');
  if (code === 'ESOCKET') return unreachable(`The SMTP server cannot be reached${detail}`);
  if (code === 'ECONNECTION') return unreachable('The SMTP server ended the connection');
  if (code === 'EPROTOCOL') return unreachable('What answers at the address is not an SMTP server');
  if (code === 'EENVELOPE') {
    return {
      outcome: { kind: 'rejected', reason: 'refused', error: 'Email cannot be sent to this address' },
      fix: checkServer,
    };
  }
  return { outcome: { kind: 'retry', reason: 'deferred', error: 'The email could not be sent' }, fix: checkServer };
}

function notEncrypted(detail = ''): Failure {
  const fix =
    'In TOCSIN_SMTP_URL, smtps: is for TLS from the start, often port 465, and smtp: for STARTTLS, often port 587. ' +
    'If the SMTP server has no TLS, ?requireTLS=false at the end sends email in the clear';
  return unreachable(`The connection to the SMTP server could not be encrypted${detail}`, fix);
}

function readError(error: unknown): SmtpError {
  const fields: Record<string, unknown> = typeof error === 'object' && error !== null ? { ...error } : {};
  const word = (name: string): string => {
    const value = fields[name];
    return typeof value === 'string' && /^[A-Z][A-Z0-9_ ]{1,60}$/.test(value) ? value : '';
  };
  const reply = fields.responseCode;
  return {
    code: word('code'),
    cause: word('originalCode'),
    reply: typeof reply === 'number' && reply >= 200 && reply < 600 ? reply : 0,
    command: word('command'),
  };
}
