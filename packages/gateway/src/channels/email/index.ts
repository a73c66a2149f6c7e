// The email channel, through the operator's own SMTP server.
import { smtpTls, smtpTlsWarning } from '../../core/smtp-tls.ts';
import type { ChannelModule, Finding } from '../module.ts';
import { type EmailConfig, readEmailConfig } from './config.ts';
import type { OpenEmailChannel } from './sender.ts';
import { describeMailbox, type EmailTarget, mailbox, reportEmail, resolveMailbox, skipReasonOf } from './target.ts';

export const emailChannel: ChannelModule<EmailTarget, EmailConfig, OpenEmailChannel> = {
  name: 'email',
  label: 'Email',
  provider: 'The SMTP server',
  breakers: { email: 'email' },
  hasOneTarget: true,
  isProbedWhenDown: true,
  notConfigured: 'No SMTP server is configured: set TOCSIN_SMTP_URL and TOCSIN_EMAIL_FROM',
  guard: { timeoutMs: ({ timeoutMs }) => timeoutMs, maxConcurrent: 50 },
  settings: readEmailConfig,

  plan(request, recipients) {
    const enabled = request.sendEmail ?? recipients.emailAlerts;
    return {
      channel: emailChannel,
      enabled,
      targets: enabled && recipients.email !== null ? [mailbox(recipients.email)] : [],
      skipReason: skipReasonOf(request, recipients),
      // A request that asks for email explicitly overrides the owner's preferences, including quiet hours.
      ...(request.sendEmail === true && { ignoresQuietHours: true }),
    };
  },
  planFromDispatch: ({ sendEmail }, targetIds) => ({
    channel: emailChannel,
    enabled: sendEmail ?? targetIds.length > 0,
    targets: [],
    // Without `sendEmail` it is no longer known whether the address, the preference or quiet hours decided.
    skipReason: sendEmail === false ? 'disabled_by_request' : null,
  }),
  resolve: resolveMailbox,
  describe: describeMailbox,
  report: reportEmail,

  async open(settings, { store }) {
    const { createEmailSender } = await import('./sender.ts');
    return createEmailSender(settings, undefined, await store.isLegacy());
  },

  /** Links in emails do not depend on the request, so the address of the console has to be configured. */
  async diagnose({ url }, opened, { consoleUrl, isLegacy }) {
    const problem = await opened.check();
    const warnings = [
      consoleUrl === null
        ? 'set TOCSIN_CONSOLE_URL: without it, sign-in links in emails use the listening address'
        : null,
      smtpTlsWarning(url, isLegacy),
    ].filter((message) => message !== null);
    return [
      problem === null ? { state: 'ok', message: 'the SMTP server responds' } : { state: 'failed', message: problem },
      ...warnings.map((message): Finding => ({ state: 'warning', message })),
    ];
  },

  /** What the operator chose is reported by doctor only. */
  legacyWarnings({ url }) {
    const warning = smtpTls(url, true) === 'optional until set' ? smtpTlsWarning(url, true) : null;
    return warning === null ? [] : [warning];
  },
};
