// Mail, over the operator's own mail server.
import { createTransport, type SendMailOptions } from 'nodemailer';
import type { EmailConfig } from '../../config/channels.ts';
import { isOneAddress } from '../../core/email-address.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { EmailTarget } from '../../core/plan.ts';
import { smtpTls } from '../../core/smtp-tls.ts';
import type { ManagedChannel, Notification } from '../../usecases/ports/index.ts';
import { domainOf, parseSender, type Sender } from './address.ts';
import { explain, type Failure, unreachable } from './failure.ts';
import { format } from './format.ts';
import { smtpOptions, type Trust } from './smtp-options.ts';
import { GivenUp, Lanes, LanesClosed } from './smtp-pool.ts';
import { formatLetter, type Letter } from './transactional-email.ts';

const longestCheckMs = 5000;

export interface EmailChannel extends ManagedChannel<EmailTarget> {
  /** Something other than a notification, over the same connections; never rejects. */
  sendLetter(letter: Letter, address: string): Promise<Outcome>;
}

const never = new AbortController().signal;

/** `trust` is for a mail server whose certificate Node does not know; there is no way to leave certificates unchecked. */
export function createEmailChannel(
  { url, from, timeoutMs }: EmailConfig,
  trust?: Trust,
  /** The installation is from before TLS was required. */
  isLegacy = false,
): EmailChannel {
  const tls = smtpTls(url, isLegacy);
  const sender = parseSender(from);
  const lanes = new Lanes(smtpOptions({ url, timeoutMs, tls }, trust));

  const compose = (notification: Notification): SendMailOptions => ({
    ...format(notification, domainOf(sender.address)),
    date: new Date(notification.createdAt),
  });

  async function sendOne(content: SendMailOptions, address: string, signal: AbortSignal): Promise<Outcome> {
    if (!isOneAddress(address)) {
      return { kind: 'rejected', reason: 'invalid_target', error: 'The address is not one that mail can be sent to' };
    }
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), timeoutMs);
    try {
      await lanes.send({ ...content, ...envelope(sender, address) }, AbortSignal.any([signal, deadline.signal]));
      return { kind: 'sent' };
    } catch (error) {
      if (error instanceof LanesClosed) return notAsked('The mail channel is shut down');
      if (!(error instanceof GivenUp)) return explain(error).outcome;
      if (!error.wasStarted) return notAsked('No connection to the mail server was free in time');
      if (deadline.signal.aborted) return noAnswerWithin(timeoutMs).outcome;
      return {
        kind: 'retry',
        reason: 'deferred',
        error: 'The mail was broken off before the mail server had taken it',
      };
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    send: (notification, targets, _options, signal) =>
      Promise.all(targets.map(({ address }) => sendOne(compose(notification), address, signal))),

    sendLetter: (letter, address) => sendOne({ ...formatLetter(letter), date: new Date() }, address, never),

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
        return isWell ? null : sentenceOf(noAnswerWithin(checkMs));
      } catch (error) {
        return sentenceOf(explain(error));
      } finally {
        clearTimeout(timer);
      }
    },

    close: () => lanes.close(),
  };
}

function envelope(sender: Sender, address: string): SendMailOptions {
  // As objects: nodemailer takes a string apart and finds a second recipient behind a comma.
  const recipient = { name: '', address };
  return {
    from: sender,
    to: recipient,
    envelope: { from: { name: '', address: sender.address }, to: [recipient] },
  };
}

function notAsked(error: string): Outcome {
  return { kind: 'retry', reason: 'not_attempted', error };
}

function noAnswerWithin(ms: number): Failure {
  return unreachable(`The mail server did not answer within ${ms} ms`);
}

function sentenceOf({ outcome, fix }: Failure): string {
  return `${outcome.error}. ${fix}.`;
}
