// Cards for Microsoft Teams: the MessageCard of connectors, and the Adaptive Card of workflows.
import type { JsonObject, JsonValue, Severity } from '@tocsin/contract';
import { lineOfField, plainMarkdown, titleAndBody, uniqueLines } from '../chat-text.ts';
import { parseHexColour, severityOfColour } from '../colour.ts';
import { membersOf, objectsOf, type Preset, type SenderEvent, textOf, urlOf } from '../event.ts';

/** Of more items, nothing would be left in the notification. */
const maxItems = 50;
const adaptiveCardType = 'application/vnd.microsoft.card.adaptive';

const severityOfStyle: Readonly<Record<string, Severity>> = { attention: 'error', warning: 'warning', good: 'info' };

export const teams: Preset = {
  name: 'teams',
  label: 'Microsoft Teams',
  matches: ({ body: { value } }) => membersOf(value)['@type'] === 'MessageCard' || adaptiveCardOf(value) !== undefined,

  read({ body: { value } }) {
    const card = adaptiveCardOf(value);
    const event = card === undefined ? readMessageCard(membersOf(value)) : readAdaptiveCard(card);
    return event.title === undefined ? null : event;
  },

  /** Connectors respond with `1`. Some senders compare it, because Teams reports failures with the status 200 too. */
  respond: () => ({ status: 200, contentType: 'text/plain', body: '1' }),
};

/** Workflows wrap the card in a message; some senders post it as it is. */
function adaptiveCardOf(value: JsonValue): JsonObject | undefined {
  const message = membersOf(value);
  if (message.type === 'AdaptiveCard') return message;
  const attachment = objectsOf(message.attachments, maxItems).find(
    ({ contentType }) => contentType === adaptiveCardType,
  );
  return attachment === undefined ? undefined : membersOf(attachment.content);
}

function readMessageCard({ title, text, summary, themeColor, sections, potentialAction }: JsonObject): SenderEvent {
  const texts = objectsOf(sections, maxItems).flatMap((section) => [
    textOf(section.activityTitle) ?? textOf(section.title),
    textOf(section.activitySubtitle),
    textOf(section.text) ?? textOf(section.activityText),
    ...factsOf(section.facts, 'name'),
  ]);
  const lines = uniqueLines([textOf(title), textOf(text), ...texts]);
  const rgb = parseHexColour(textOf(themeColor) ?? '');
  const links = objectsOf(potentialAction, maxItems).flatMap(({ targets }) =>
    objectsOf(targets, maxItems).map(({ uri }) => urlOf(uri)),
  );
  return {
    ...titleAndBody(plainMarkdown(lines === '' ? (textOf(summary) ?? '') : lines)),
    severity: rgb === undefined ? null : severityOfColour(rgb),
    clickUrl: links.find((url) => url !== undefined),
  };
}

function readAdaptiveCard(card: JsonObject): SenderEvent {
  const elements = elementsOf(card.body);
  const texts = elements.flatMap(({ text, facts }) => [textOf(text), ...factsOf(facts, 'title')]);
  const styles = elements
    .flatMap(({ color, style }) => [color, style])
    .map((name) => textOf(name)?.toLowerCase() ?? '');
  const actions = [
    ...objectsOf(card.actions, maxItems),
    ...elements.flatMap(({ actions }) => objectsOf(actions, maxItems)),
  ];
  return {
    ...titleAndBody(plainMarkdown(uniqueLines(texts))),
    severity: styles.map((name) => severityOfStyle[name]).find((severity) => severity !== undefined) ?? null,
    clickUrl: actions.map(({ url }) => urlOf(url)).find((url) => url !== undefined),
  };
}

/** The elements of a card, with those inside containers and columns, in the order in which they are read. */
function elementsOf(value: JsonValue | undefined): JsonObject[] {
  return objectsOf(value, maxItems)
    .flatMap((element) => [element, ...elementsOf(element.items), ...elementsOf(element.columns)])
    .slice(0, maxItems);
}

function factsOf(value: JsonValue | undefined, name: 'name' | 'title'): (string | undefined)[] {
  return objectsOf(value, maxItems).map((fact) => lineOfField(fact[name], fact.value));
}
