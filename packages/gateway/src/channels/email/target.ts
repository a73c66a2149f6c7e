// The mailbox of an owner. Pure.
import type { EmailSkipReason, NormalizedRequest } from '@tocsin/contract';
import type { ChannelTarget, FlatReport, PlannedChannel, TargetReader, UnavailableTarget } from '../../core/channel.ts';
import { isAccepted, type Outcome } from '../../core/outcome.ts';
import type { Recipients } from '../../core/recipients.ts';

export interface EmailTarget extends ChannelTarget {
  address: string;
}

/** The id is empty: an owner has at most one address. */
export function mailbox(address: string): EmailTarget {
  return { id: '', address };
}

export function resolveMailbox({ email }: Recipients): EmailTarget | UnavailableTarget {
  return email === null ? { kind: 'gone', error: 'The owner has no email address' } : mailbox(email);
}

export async function describeMailbox(read: TargetReader): Promise<ReadonlyMap<string, string>> {
  const email = read.email();
  return new Map(email === null ? [] : [['', email]]);
}

/** A missing address takes precedence over the owner's preference: an owner without one cannot enable email. */
export function skipReasonOf(request: NormalizedRequest, recipients: Recipients): EmailSkipReason | null {
  if (request.sendEmail === false) return 'disabled_by_request';
  if (recipients.email === null) return 'no_address';
  return request.sendEmail === null && !recipients.emailAlerts ? 'disabled_by_owner' : null;
}

export function reportEmail(planned: PlannedChannel, outcomes: readonly Outcome[]): FlatReport {
  const emailEnabled = planned.enabled && planned.isMuted !== true;
  const emailSent = outcomes.some(isAccepted);
  const emailSkipReason = (planned.skipReason as EmailSkipReason | null) ?? notConfigured(outcomes);
  return {
    fields: { emailEnabled, emailSent, ...(emailSkipReason !== null && { emailSkipReason }) },
    warnings: emailEnabled && !emailSent ? ['email_send_failed'] : [],
  };
}

function notConfigured(outcomes: readonly Outcome[]): EmailSkipReason | null {
  const isMissing = outcomes.some((outcome) => outcome.kind === 'rejected' && outcome.reason === 'not_configured');
  return isMissing ? 'not_configured' : null;
}
