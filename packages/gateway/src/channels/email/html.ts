// The HTML form of an email. Styles are inline because many readers drop everything else; the style block only adds dark mode
// and small screens where it is understood. Nothing is loaded from anywhere.
import type { AcceptedContent, Severity } from '@tocsin/contract';
import type { Notification } from '../../usecases/ports/index.ts';
import { originOf, type Row, tableOf } from './email-fields.ts';
import { manyLines, oneLine } from './sanitize.ts';

/** White text on each of them has a contrast of at least 4.5. */
const colours: Record<Severity | 'none', string> = {
  critical: '#b91c1c',
  error: '#c2410c',
  warning: '#a16207',
  info: '#1d4ed8',
  none: '#4b5563',
};

const fonts = "-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
const codeFonts = "ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono',monospace";
export const wrap = 'overflow-wrap:anywhere;word-break:break-word';

const styleBlock = `
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (prefers-color-scheme: dark) {
  .page { background: #0b0f19 !important; }
  .card { background: #1b2230 !important; border-color: #323b4c !important; }
  .strong { color: #f3f4f6 !important; }
  .soft { color: #aab3c2 !important; }
  .line { border-color: #323b4c !important; }
  .code { background: #111722 !important; color: #d7dde7 !important; }
  .link { color: #8ab4ff !important; }
}
@media (max-width: 480px) {
  .outer { padding: 8px !important; }
  .inner { padding: 16px !important; }
  .name, .value { display: block !important; width: auto !important; }
  .name { padding: 10px 0 0 !important; }
  .value { padding: 2px 0 10px !important; border-top: 0 !important; }
}`;

export function renderHtml(notification: Notification, subject: string): string {
  const { content } = notification;
  const colour = colours[content.severity ?? 'none'];
  const parts = [
    badge(content.severity, colour),
    headline(content),
    body(content),
    table(content),
    origin(notification),
  ];
  return renderPage(subject, colour, parts);
}

/** A card with a bar in that colour; empty parts are left out. */
export function renderPage(subject: string, colour: string, parts: string[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(subject)}</title>
<style>${styleBlock}
</style>
</head>
<body class="page" style="margin:0;padding:0;background:#f1f3f6">
<table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" style="background:#f1f3f6">
<tr><td class="outer" align="center" style="padding:24px 12px">
<table role="presentation" class="card" width="100%" cellpadding="0" cellspacing="0" style="${cardStyle}">
<tr><td style="height:8px;line-height:8px;font-size:0;background:${colour};border-radius:8px 8px 0 0">&nbsp;</td></tr>
<tr><td class="inner" style="padding:20px 24px 22px;font-family:${fonts}">
${parts.filter((part) => part !== '').join('\n')}
</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
`;
}

const cardStyle =
  'max-width:600px;background:#ffffff;border:1px solid #dde1e7;border-radius:9px;border-collapse:separate;text-align:left';

function badge(severity: Severity | null, colour: string): string {
  if (severity === null) return '';
  const style = `display:inline-block;padding:3px 10px;border-radius:4px;background:${colour};color:#ffffff;font-size:12px;line-height:18px;font-weight:700;letter-spacing:0.06em`;
  return `<span style="${style}">${severity.toUpperCase()}</span>`;
}

function headline({ title, severity }: AcceptedContent): string {
  const above = severity === null ? 0 : 10;
  const style = `margin:${above}px 0 0;font-size:20px;line-height:28px;font-weight:700;color:#111827;${wrap}`;
  return `<h1 class="strong" dir="auto" style="${style}">${escapeHtml(oneLine(title))}</h1>`;
}

function body({ body }: AcceptedContent): string {
  const text = manyLines(body);
  if (text === '') return '';
  const style = `margin:10px 0 0;font-size:15px;line-height:23px;color:#1f2937;${wrap}`;
  return `<p class="strong" dir="auto" style="${style}">${lines(text)}</p>`;
}

function table(content: AcceptedContent): string {
  const { rows, more } = tableOf(content);
  if (rows.length + more === 0) return '';
  const style = 'margin:18px 0 0;border-collapse:collapse;table-layout:fixed';
  const rest = `<p class="soft" style="margin:8px 0 0;font-size:14px;line-height:20px;color:#5b6472">… and ${more} more</p>`;
  return `<table class="data" width="100%" cellpadding="0" cellspacing="0" style="${style}">
${rows.map(tableRow).join('\n')}
</table>${more > 0 ? `\n${rest}` : ''}`;
}

const cell = `padding:8px 0;border-top:1px solid #e5e8ed;vertical-align:top;text-align:left;font-size:14px;line-height:20px;${wrap}`;

function tableRow({ name, value, isNested }: Row): string {
  const nameStyle = `${cell};width:32%;padding-right:12px;font-weight:400;color:#5b6472`;
  return `<tr><th scope="row" class="name soft line" dir="auto" style="${nameStyle}">${escapeHtml(name)}</th><td class="value strong line" dir="auto" style="${cell};color:#111827">${isNested ? code(value) : linkOrText(value)}</td></tr>`;
}

function code(text: string): string {
  const style = `padding:8px 10px;border-radius:6px;background:#f4f6f8;color:#1f2937;font-family:${codeFonts};font-size:12px;line-height:18px`;
  return `<div class="code" dir="ltr" style="${style}">${lines(text)}</div>`;
}

/** Only a value that is an http address as a whole becomes a link, and it reads as what it leads to. */
function linkOrText(text: string): string {
  if (!isWebAddress(text)) return lines(text);
  return `<a class="link" href="${escapeHtml(text)}" rel="noopener noreferrer" style="color:#1d4ed8">${escapeHtml(text)}</a>`;
}

/**
 * Only an address that a browser would write the same way: it has no look-alike letters or slashes, no bidi controls, no
 * hidden host. Not with a user name in it either: https://bank.example@evil.example leads to the latter.
 */
function isWebAddress(text: string): boolean {
  if (!/^https?:\/\//.test(text)) return false;
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') return false;
  return url.href === text || url.href === `${text}/`;
}

function origin(notification: Notification): string {
  const facts = originOf(notification).map(([name, value]) => `${name}: ${escapeHtml(value)}`);
  const style = `margin:18px 0 0;padding:12px 0 0;border-top:1px solid #e5e8ed;font-size:12px;line-height:19px;color:#5b6472;${wrap}`;
  return `<p class="soft line" style="${style}">${facts.join('<br>')}</p>`;
}

/** Outlook knows no pre-wrap, so breaks and indents are written out. */
function lines(text: string): string {
  return escapeHtml(text)
    .replaceAll(/^ +/gm, (indent) => '&nbsp;'.repeat(indent.length))
    .replaceAll('\n', '<br>');
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] as string);
}
