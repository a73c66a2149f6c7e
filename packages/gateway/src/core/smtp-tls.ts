// Whether email may go out in the clear where a mail server offers no TLS. Someone between the gateway and the mail server
// can hide that it does, and then reads the password of the mail account and every sign-in link.

export type SmtpTls =
  /** Nothing is sent without TLS. */
  | 'required'
  /** The operator chose it by name, or it is a mail server on this machine without a password. */
  | 'optional'
  /** As `optional`, but only because the installation is from before TLS was required. */
  | 'optional until set';

/** `isLegacy`: the installation was made by a version that did not require TLS. */
export function smtpTls(url: URL, isLegacy: boolean): SmtpTls {
  if (isEncryptedFromStart(url)) return 'required';
  const chosen = url.searchParams.get('requireTLS');
  if (chosen === 'true') return 'required';
  if (chosen === 'false' || !isExposed(url)) return 'optional';
  return isLegacy ? 'optional until set' : 'required';
}

/** Port 465 is TLS from the first byte, also where somebody wrote smtp: before it. */
export function isEncryptedFromStart({ protocol, port }: URL): boolean {
  return protocol === 'smtps:' || port === '465';
}

/** What the operator should know about email in the clear; null where there is nothing to say. */
export function smtpTlsWarning(url: URL, isLegacy: boolean): string | null {
  const tls = smtpTls(url, isLegacy);
  if (tls === 'required' || !isExposed(url)) return null;
  const risk = 'Email may be sent without TLS, so that the password and sign-in links can be read on the way';
  return tls === 'optional'
    ? `${risk}: TOCSIN_SMTP_URL has requireTLS=false`
    : `${risk}. Append ?requireTLS=true to TOCSIN_SMTP_URL, or ?requireTLS=false if the mail server has no TLS`;
}

/** With a password, or over a network. */
function isExposed({ username, hostname }: URL): boolean {
  return username !== '' || !/^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i.test(hostname);
}
