// A notification → the content of an email. Pure.
import type { AcceptedContent } from '@tocsin/contract';
import type { Notification } from '../../usecases/ports/index.ts';
import { renderHtml } from './html.ts';
import { renderText } from './plain-text.ts';
import { cut, oneLine } from './sanitize.ts';

export interface EmailContent {
  subject: string;
  text: string;
  html: string;
  headers: Record<string, string>;
  messageId: string;
}

const subjectCharacters = 180;

/** `domain` is the sender's. The same notification always has the same Message-ID, so a second delivery is seen as one. */
export function format(notification: Notification, domain: string): EmailContent {
  const { id, content } = notification;
  const subject = subjectOf(content);
  return {
    subject,
    text: renderText(notification),
    html: renderHtml(notification, subject),
    headers: {
      // Keep vacation notices and other machines from answering: RFC 3834, and Exchange's own header.
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
      ...priorityOf(content),
    },
    messageId: `<${id}@${domain}>`,
  };
}

function subjectOf({ title, severity }: AcceptedContent): string {
  const words = oneLine(title) || 'Notification';
  return cut(severity === null ? words : `[${severity.toUpperCase()}] ${words}`, subjectCharacters);
}

/** Without these headers an email has normal priority. Outlook reads Importance, others X-Priority. */
function priorityOf({ severity }: AcceptedContent): Record<string, string> {
  if (severity === 'critical') return { 'X-Priority': '1 (Highest)', Importance: 'high' };
  if (severity === 'error') return { 'X-Priority': '2 (High)', Importance: 'high' };
  return {};
}
