// Security alerts of a repository. The secret that was found is never part of a notification.
import type { JsonValue, Severity } from '@tocsin/contract';
import { excerptOf, firstLineOf, membersOf, textAt, textOf, urlOf } from '../event.ts';
import type { Facts } from '../facts.ts';
import { severityOf } from '../severity.ts';
import { phrase, wordsOf } from '../text.ts';
import type { FactReader, RepositoryEvent } from './event.ts';

/** Actions after which the alert needs no attention. */
const endings = /^(fixed|closed_by_user|closed|dismiss|dismissed|auto_dismissed|resolve|resolved|withdrawn)$/;

interface Alert {
  kind: string;
  subject: string | undefined;
  body?: string | undefined;
  severity: JsonValue | undefined;
  url: string | null | undefined;
  thread: string | undefined;
}

export const alertReaders: Readonly<Record<string, FactReader>> = {
  code_scanning_alert(event) {
    const alert = membersOf(event.payload.alert);
    const rule = membersOf(alert.rule);
    return toFacts(event, {
      kind: 'code scanning alert',
      subject: firstLineOf(rule.description) ?? textOf(rule.name) ?? textOf(rule.id),
      body: textAt(alert, 'tool', 'name'),
      severity: rule.security_severity_level ?? rule.severity,
      url: urlOf(alert.html_url),
      thread: numbered('code scanning', alert.number),
    });
  },
  dependabot_alert(event) {
    const alert = membersOf(event.payload.alert);
    const advisory = membersOf(alert.security_advisory);
    const name =
      textAt(alert, 'dependency', 'package', 'name') ?? textAt(alert, 'security_vulnerability', 'package', 'name');
    const summary = firstLineOf(advisory.summary);
    return toFacts(event, {
      kind: 'Dependabot alert',
      subject: name !== undefined && summary?.includes(name) ? summary : phrase(name, summary),
      body: excerptOf(advisory.description),
      severity: advisory.severity ?? membersOf(alert.security_vulnerability).severity,
      url: urlOf(alert.html_url),
      thread: numbered('dependabot', alert.number),
    });
  },
  secret_scanning_alert: readSecretAlert,
  secret_scanning_alert_location: readSecretAlert,
  repository_vulnerability_alert(event) {
    const alert = membersOf(event.payload.alert);
    return toFacts(event, {
      kind: 'vulnerability alert',
      subject: phrase(textOf(alert.affected_package_name), textOf(alert.external_identifier)),
      severity: alert.severity,
      url: urlOf(alert.external_reference),
      thread: numbered('vulnerability', alert.id),
    });
  },
  security_advisory: (event) => readAdvisory(event, event.payload.security_advisory),
  repository_advisory: (event) => readAdvisory(event, event.payload.repository_advisory),
};

function readSecretAlert(event: RepositoryEvent): Facts {
  const alert = membersOf(event.payload.alert);
  return toFacts(event, {
    kind: 'secret scanning alert',
    subject: textOf(alert.secret_type_display_name) ?? textOf(alert.secret_type),
    severity: undefined,
    url: urlOf(alert.html_url),
    thread: numbered('secret scanning', alert.number),
  });
}

function readAdvisory(event: RepositoryEvent, value: JsonValue | undefined): Facts {
  const advisory = membersOf(value);
  return toFacts(event, {
    kind: 'Security advisory',
    subject: firstLineOf(advisory.summary),
    body: excerptOf(advisory.description),
    severity: advisory.severity,
    url: urlOf(advisory.html_url),
    thread: numbered('advisory', advisory.ghsa_id),
  });
}

function toFacts({ where, action }: RepositoryEvent, alert: Alert): Facts {
  const { kind, subject, body, url, thread } = alert;
  const isOver = endings.test(action);
  const what = phrase(where, kind, wordsOf(action));
  return {
    title: subject === undefined || subject === '' ? what : `${what}: ${subject}`,
    body,
    severity: isOver ? 'info' : openSeverity(alert.severity),
    url,
    thread,
    resolved: isOver,
  };
}

/** An alert without a severity is an error. */
function openSeverity(value: JsonValue | undefined): Severity {
  return value === 'note' || value === 'none' ? 'info' : (severityOf(value) ?? 'error');
}

function numbered(kind: string, number: JsonValue | undefined): string | undefined {
  const text = textOf(number);
  return text === undefined ? undefined : ` ${kind} ${text}`;
}
