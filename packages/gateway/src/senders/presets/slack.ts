// Slack's incoming webhooks, which many programs can send to, and requests that Slack itself signs (Events API).
import type { JsonObject, JsonValue, Severity } from '@tocsin/contract';
import { lineOfField, readCharacters, titleAndBody, uniqueLines } from '../chat-text.ts';
import { parseHexColour, severityOfColour } from '../colour.ts';
import {
  hasOnlyMembers,
  ignore,
  membersOf,
  objectsOf,
  type Preset,
  type SenderRequest,
  textOf,
  urlOf,
} from '../event.ts';
import { severityOf, worstSeverity } from '../severity.ts';
import { slackProblem } from '../signatures/slack.ts';

/** The members of a message, with those of Mattermost and Rocket.Chat. A body with any other one is not Slack's. */
const messageMembers = new Set(
  `alias as_user attachments avatar blocks channel delete_original emoji icon_emoji icon_url link_names metadata mrkdwn parse
  props replace_original reply_broadcast response_type text thread_ts ts unfurl_links unfurl_media username`.split(
    /\s+/,
  ),
);
/** Of more attachments or blocks, nothing would be left in the notification. */
const maxItems = 20;
const maxTexts = 100;

export const slack: Preset = {
  name: 'slack',
  label: 'Slack',

  matches({ headers, body }) {
    if (headers['x-slack-signature'] !== undefined) return true;
    const message = membersOf(body.value);
    const hasContent =
      typeof message.text === 'string' || Array.isArray(message.attachments) || Array.isArray(message.blocks);
    return hasContent && hasOnlyMembers(body, messageMembers);
  },

  read({ body: { value } }) {
    const request = membersOf(value);
    if (request.type === 'url_verification') return ignore('Slack verified the address');
    const message = request.type === 'event_callback' ? membersOf(request.event) : request;
    const blocks = objectsOf(message.blocks, maxItems);
    const attachments = objectsOf(message.attachments, maxItems);
    const all = [message.text, ...blocks.flatMap(textsOfBlock), ...attachments.flatMap(textsOfAttachment)];
    const texts = all.slice(0, maxTexts);
    const links = [
      ...attachments.flatMap(linksOfAttachment),
      ...texts.map(linkInText),
      ...blocks.flatMap(linksOfBlock),
    ];
    const lines = uniqueLines(texts.map(plainText));
    if (lines === '') return null;
    return {
      ...titleAndBody(lines),
      severity: worstSeverity(attachments.map(({ color }) => severityOfName(color))),
      source: textOf(message.username),
      clickUrl: links.find((link) => link !== undefined),
      imageUrl: [...attachments, ...blocks].map(({ image_url }) => urlOf(image_url)).find((url) => url !== undefined),
      idempotencyKey: textOf(request.event_id),
    };
  },

  signatureProblem: slackProblem,

  /** Senders compare the body: Slack's own is `ok`. */
  respond(request) {
    return { status: 200, contentType: 'text/plain', body: challengeOf(request) ?? 'ok' };
  },
};

/** Slack sends a challenge to a new address, and expects it in the response. */
function challengeOf({ body: { value } }: SenderRequest): string | undefined {
  const { type, challenge } = membersOf(value);
  return type === 'url_verification' ? textOf(challenge) : undefined;
}

function textsOfAttachment({ title, text, fields, pretext, fallback, blocks }: JsonObject): (JsonValue | undefined)[] {
  const pairs = objectsOf(fields, maxItems).map((field) => lineOfField(field.title, field.value));
  const texts = [title, text, ...pairs, pretext, ...objectsOf(blocks, maxItems).flatMap(textsOfBlock)];
  return texts.some((entry) => textOf(entry) !== undefined) ? texts : [fallback];
}

function textsOfBlock({ text, fields }: JsonObject): (JsonValue | undefined)[] {
  return [membersOf(text), ...objectsOf(fields, maxItems)].map((entry) => entry.text);
}

function linksOfAttachment({ title_link, actions, blocks }: JsonObject): (string | undefined)[] {
  const buttons = objectsOf(actions, maxItems).map(({ url }) => urlOf(url));
  return [urlOf(title_link), ...buttons, ...objectsOf(blocks, maxItems).flatMap(linksOfBlock)];
}

function linksOfBlock({ elements, accessory }: JsonObject): (string | undefined)[] {
  return [...objectsOf(elements, maxItems), membersOf(accessory)].map(({ url }) => urlOf(url));
}

function linkInText(value: JsonValue | undefined): string | undefined {
  return urlOf(/<(https?:\/\/[^|>\s]+)/i.exec(textOf(value) ?? '')?.[1]);
}

/** `good`, `warning` and `danger`, or a colour. */
function severityOfName(color: JsonValue | undefined): Severity | null {
  const name = textOf(color) ?? '';
  const rgb = parseHexColour(name);
  return rgb === undefined ? (severityOf(name) ?? null) : severityOfColour(rgb);
}

/** Slack's markup without its marks: `<https://example.com|label>` → `label`, `*bold*` → `bold`. */
function plainText(value: JsonValue | undefined): string | undefined {
  return textOf(value)
    ?.slice(0, readCharacters)
    .replace(/<([^<>|\n]*)\|([^<>\n]*)>/g, '$2')
    .replace(/<([@#!]?)([^<>\n]*)>/g, (_, mark: string, name: string) => `${mark.replace('!', '@')}${name}`)
    .replace(/(?<!\w)([*_~])(?=\S)([^*_~\n]+)(?<=\S)\1(?!\w)/g, '$2')
    .replace(/&(amp|lt|gt);/g, (_, name: keyof typeof characters) => characters[name]);
}

const characters = { amp: '&', lt: '<', gt: '>' };
