// Sends email through the operator's own SMTP server.
import { createTransport, type SendMailOptions } from 'nodemailer';
import type { OpenChannel } from '../../core/channel.ts';
import { createDeadline, isTimeout } from '../../core/deadline.ts';
import { isOneAddress } from '../../core/email-address.ts';
import type { Notification } from '../../core/notification.ts';
import { type Outcome, retry } from '../../core/outcome.ts';
import { smtpTls } from '../../core/smtp-tls.ts';
import { domainOf, parseSender, type Sender } from './address.ts';
import type { EmailConfig } from './config.ts';
import { explain, type Failure, unreachable } from './failure.ts';
import { format } from './format.ts';
import { smtpOptions, type Trust } from './smtp-options.ts';
import { SendAborted, SmtpPool, SmtpPoolClosed } from './smtp-pool.ts';
import type { EmailTarget } from './target.ts';
import { formatTransactional, type TransactionalEmail } from './transactional-email.ts';

const longestCheckMs = 5000;

export interface OpenEmailChannel extends OpenChannel<EmailTarget> {
  /** An email that is not a notification, over the same connections; never rejects. */
  sendTransactional(email: TransactionalEmail, address: string): Promise<Outcome>;
}

/** `trust` is for a SMTP server whose certificate Node does not trust; certificates are always verified. */
export function createEmailSender(
  { url, from, timeoutMs }: EmailConfig,
  trust?: Trust,
  /** The installation predates the requirement of TLS. */
  isLegacy = false,
): OpenEmailChannel {
  const tls = smtpTls(url, isLegacy);
  const sender = parseSender(from);
  const pool = new SmtpPool(smtpOptions({ url, timeoutMs, tls }, trust));

  const compose = (notification: Notification): SendMailOptions => ({
    ...format(notification, domainOf(sender.address)),
    date: new Date(notification.createdAt),
  });

  async function sendOne(content: SendMailOptions, address: string, signal: AbortSignal): Promise<Outcome> {
    if (!isOneAddress(address)) {
      return { kind: 'rejected', reason: 'invalid_target', error: 'Email cannot be sent to this address' };
    }
    try {
      await pool.send({ ...content, ...envelope(sender, address) }, signal);
      return { kind: 'sent' };
    } catch (error) {
      if (error instanceof SmtpPoolClosed) return retry('not_attempted', 'The email channel is shut down');
      if (!(error instanceof SendAborted)) return explain(error).outcome;
      if (!error.wasStarted) return retry('not_attempted', 'No connection to the SMTP server was free in time');
      if (isTimeout(signal)) return timedOut.outcome;
      return {
        kind: 'retry',
        reason: 'deferred',
        error: 'The email was aborted before the SMTP server had accepted it',
      };
    }
  }

  return {
    send: (notification, targets, _options, signal) =>
      Promise.all(targets.map(({ address }) => sendOne(compose(notification), address, signal))),

    async sendTransactional(email, address) {
      using deadline = createDeadline(timeoutMs);
      return await sendOne({ ...formatTransactional(email), date: new Date() }, address, deadline.signal);
    },

    async check() {
      const checkMs = Math.min(timeoutMs, longestCheckMs);
      const transport = createTransport({
        ...smtpOptions({ url, timeoutMs: checkMs, tls }, trust),
        socketTimeout: checkMs,
      });
      const late = Promise.withResolvers<false>();
      const timer = setTimeout(late.resolve, checkMs, false);
      try {
        const isWell = await Promise.race([transport.verify(), late.promise]);
        return isWell ? null : sentenceOf(timedOut);
      } catch (error) {
        return sentenceOf(explain(error));
      } finally {
        clearTimeout(timer);
      }
    },

    close: () => pool.close(),
  };
}

function envelope(sender: Sender, address: string): SendMailOptions {
  // As objects: nodemailer parses a string, and finds a second recipient after a comma.
  const recipient = { name: '', address };
  return {
    from: sender,
    to: recipient,
    envelope: { from: { name: '', address: sender.address }, to: [recipient] },
  };
}

const timedOut: Failure = unreachable('The SMTP server did not respond in time');

function sentenceOf({ outcome, fix }: Failure): string {
  return `${outcome.error}. ${fix}.`;
}
