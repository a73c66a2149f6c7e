// Emails that are not notifications: a few sentences and a link. Pure.
import type { EmailContent } from './format.ts';
import { escapeHtml, renderPage, wrap } from './html.ts';
import { cut, oneLine } from './sanitize.ts';

export interface TransactionalEmail {
  subject: string;
  /** Paragraphs before the link. */
  paragraphs: string[];
  link: { label: string; url: string };
  /** Smaller text after the link. */
  footnote: string;
}

const colour = '#1d4ed8';

export function formatTransactional({
  subject,
  paragraphs,
  link,
  footnote,
}: TransactionalEmail): Omit<EmailContent, 'messageId'> {
  const title = cut(oneLine(subject), 180);
  return {
    subject: title,
    text: [title, ...paragraphs.map(oneLine), link.url, footnote].join('\n\n'),
    html: renderPage(title, colour, [
      `<h1 class="strong" dir="auto" style="margin:0;font-size:20px;line-height:28px;font-weight:700;color:#111827;${wrap}">${escapeHtml(title)}</h1>`,
      ...paragraphs.map(paragraph),
      button(link),
      footer(footnote, link.url),
    ]),
    // Keeps out-of-office and other automatic replies from being sent: RFC 3834, and the header of Exchange.
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
  };
}

function paragraph(text: string): string {
  const style = `margin:10px 0 0;font-size:15px;line-height:23px;color:#1f2937;${wrap}`;
  return `<p class="strong" dir="auto" style="${style}">${escapeHtml(oneLine(text))}</p>`;
}

function button({ label, url }: TransactionalEmail['link']): string {
  const style = `display:inline-block;padding:10px 20px;border-radius:6px;background:${colour};color:#ffffff;font-size:15px;line-height:22px;font-weight:700;text-decoration:none`;
  return `<p style="margin:18px 0 0"><a href="${escapeHtml(url)}" style="${style}">${escapeHtml(label)}</a></p>`;
}

function footer(footnote: string, url: string): string {
  const style = `margin:18px 0 0;padding:12px 0 0;border-top:1px solid #e5e8ed;font-size:12px;line-height:19px;color:#5b6472;${wrap}`;
  return `<p class="soft line" style="${style}">${escapeHtml(footnote)}<br>${escapeHtml(url)}</p>`;
}
