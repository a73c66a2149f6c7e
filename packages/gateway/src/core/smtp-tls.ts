// Whether email may be sent unencrypted if the SMTP server does not offer TLS. An attacker in the network path can remove
// the offer (STARTTLS stripping), and then reads the SMTP password and every sign-in link.

export type SmtpTls =
  /** Nothing is sent without TLS. */
  | 'required'
  /** The operator chose it explicitly, or the SMTP server is on this machine and needs no password. */
  | 'optional'
  /** Like `optional`, but only because the installation is older than the requirement of TLS. */
  | 'optional until set';

/** `isLegacy`: the installation was made by a version that did not require TLS. */
export function smtpTls(url: URL, isLegacy: boolean): SmtpTls {
  if (isEncryptedFromStart(url)) return 'required';
  const chosen = url.searchParams.get('requireTLS');
  if (chosen === 'true') return 'required';
  if (chosen === 'false' || !isExposed(url)) return 'optional';
  return isLegacy ? 'optional until set' : 'required';
}

/** Port 465 uses implicit TLS, even if the URL begins with smtp:. */
export function isEncryptedFromStart({ protocol, port }: URL): boolean {
  return protocol === 'smtps:' || port === '465';
}

/** Warning about unencrypted email for the operator; null if there is none. */
export function smtpTlsWarning(url: URL, isLegacy: boolean): string | null {
  const tls = smtpTls(url, isLegacy);
  if (tls === 'required' || !isExposed(url)) return null;
  const risk = 'Email may be sent without TLS, so that the password and sign-in links can be read on the way';
  return tls === 'optional'
    ? `${risk}: TOCSIN_SMTP_URL has requireTLS=false`
    : `${risk}. Append ?requireTLS=true to TOCSIN_SMTP_URL, or ?requireTLS=false if the SMTP server has no TLS`;
}

/** With a password, or over a network. */
function isExposed({ username, hostname }: URL): boolean {
  return username !== '' || !/^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i.test(hostname);
}
