// Discord's webhooks, which many programs can send to.
import { lineOfField, plainMarkdown, titleAndBody, uniqueLines } from '../chat-text.ts';
import { severityOfColour } from '../colour.ts';
import { hasOnlyMembers, membersOf, objectsOf, type Preset, textOf, urlOf } from '../event.ts';
import { worstSeverity } from '../severity.ts';

/** The members of a message. A body with any other one is not Discord's. */
const messageMembers = new Set(
  `allowed_mentions applied_tags attachments avatar_url components content embeds flags poll thread_name tts
  username`.split(/\s+/),
);
/** The limits of Discord. */
const maxEmbeds = 10;
const maxFields = 25;

export const discord: Preset = {
  name: 'discord',
  label: 'Discord',

  matches({ body }) {
    const message = membersOf(body.value);
    const hasContent = typeof message.content === 'string' || Array.isArray(message.embeds);
    return hasContent && hasOnlyMembers(body, messageMembers);
  },

  read({ body: { value } }) {
    const message = membersOf(value);
    const embeds = objectsOf(message.embeds, maxEmbeds);
    const texts = embeds.flatMap(({ title, description, fields }) => [
      textOf(title),
      textOf(description),
      ...objectsOf(fields, maxFields).map((field) => lineOfField(field.name, field.value)),
    ]);
    const content = textOf(message.content);
    // The title of an embed says more than the line above it.
    const all = textOf(embeds[0]?.title) === undefined ? [content, ...texts] : [texts[0], content, ...texts.slice(1)];
    const lines = uniqueLines(all);
    if (lines === '') return null;
    return {
      ...titleAndBody(plainMarkdown(lines)),
      severity: worstSeverity(embeds.map(({ color }) => (typeof color === 'number' ? severityOfColour(color) : null))),
      source: textOf(message.username),
      clickUrl: embeds.map(({ url }) => urlOf(url)).find((url) => url !== undefined),
      imageUrl: embeds
        .flatMap(({ image, thumbnail }) => [image, thumbnail].map((picture) => urlOf(membersOf(picture).url)))
        .find((url) => url !== undefined),
    };
  },

  /** Discord sends the message back only to those who ask for it. */
  respond({ query, body: { value } }) {
    if (query.get('wait') !== 'true') return { status: 204 };
    const content = textOf(membersOf(value).content) ?? '';
    return { status: 200, body: JSON.stringify({ id: '0', type: 0, content, embeds: [], attachments: [] }) };
  },
};
