// Organizations, teams, installations of apps, and sponsors. Most of these events have no page of their own.
import type { JsonObject } from '@tocsin/contract';
import { itemsOf, membersOf, textAt, urlOf } from '../event.ts';
import { phrase, wordsOf } from '../text.ts';
import { type FactReader, personOf } from './event.ts';

export const accountReaders: Readonly<Record<string, FactReader>> = {
  organization({ where, action, payload }) {
    const person = personOf(payload.user) ?? personOf(membersOf(payload.membership).user);
    return { title: phrase(where, person ?? 'organization', wordsOf(action)), url: null };
  },
  org_block: ({ where, action, payload }) => ({
    title: phrase(where, personOf(payload.blocked_user), wordsOf(action)),
    url: null,
  }),
  membership: ({ action, payload }) => ({
    title: phrase(personOf(payload.member), wordsOf(action), action === 'added' ? 'to' : 'from', teamOf(payload)),
    url: urlOf(membersOf(payload.team).html_url) ?? null,
  }),
  team({ fullName, action, payload }) {
    const page = urlOf(membersOf(payload.team).html_url);
    return {
      title: phrase(fullName, teamOf(payload), wordsOf(action)),
      url: (action === 'deleted' ? null : page) ?? null,
    };
  },
  team_add: ({ fullName, payload }) => ({ title: phrase(fullName, teamOf(payload), 'added') }),
  installation: ({ action, payload }) => ({
    title: phrase(accountOf(payload), 'app installation', wordsOf(action)),
    // A suspended app receives nothing.
    severity: action === 'suspend' ? 'warning' : null,
    url: action === 'deleted' ? null : pageOfInstallation(payload),
  }),
  installation_repositories({ action, payload }) {
    const names = itemsOf(payload[action === 'added' ? 'repositories_added' : 'repositories_removed'])
      .map((repository) => textAt(repository, 'full_name'))
      .filter((name) => name !== undefined);
    const [first = 'Repositories', ...more] = names;
    const others = more.length === 0 ? undefined : `and ${more.length} more`;
    return {
      title: phrase(first, others, wordsOf(action), action === 'added' ? 'to' : 'from', 'app installation'),
      url: pageOfInstallation(payload),
    };
  },
  github_app_authorization: ({ action, actor }) => ({
    title: phrase(actor, 'app authorization', wordsOf(action)),
    url: null,
  }),
  marketplace_purchase({ action, payload }) {
    const purchase = membersOf(payload.marketplace_purchase);
    const plan = textAt(purchase, 'plan', 'name');
    return { title: phrase(personOf(purchase.account), plan, wordsOf(action)), url: null };
  },
  sponsorship({ action, payload }) {
    const sponsorship = membersOf(payload.sponsorship);
    const tier = textAt(sponsorship, 'tier', 'name');
    return { title: phrase('Sponsor', personOf(sponsorship.sponsor), tier, wordsOf(action)), url: null };
  },
  projects_v2: ({ where, action, payload }) => ({
    title: phrase(where, 'project', textAt(payload, 'projects_v2', 'title'), wordsOf(action)),
    url: null,
  }),
  projects_v2_item({ where, action, payload }) {
    const kind = textAt(payload, 'projects_v2_item', 'content_type');
    return { title: phrase(where, 'project item', wordsOf(action), kind === undefined ? '' : `(${kind})`), url: null };
  },
};

function teamOf(payload: JsonObject): string {
  return phrase('team', textAt(payload, 'team', 'name'));
}

function accountOf(payload: JsonObject): string | undefined {
  return personOf(membersOf(payload.installation).account) ?? textAt(payload, 'sender', 'login');
}

function pageOfInstallation(payload: JsonObject): string | null {
  return urlOf(membersOf(payload.installation).html_url) ?? null;
}
