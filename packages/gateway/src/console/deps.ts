// What the console's API is made of; composition/console.ts puts it together.
import type { ServiceInfo } from '@tocsin/contract/console';
import type { FastifyRequest } from 'fastify';
import type { Recipients } from '../core/plan.ts';
import type { Accept } from '../usecases/accept.ts';
import type { Owner, Store } from '../usecases/ports/index.ts';
import type { SignInMethod } from '../usecases/ports/sign-in.ts';
import type { Makers } from '../usecases/registration.ts';
import type { Addresses } from './addresses.ts';
import type { OidcProvider } from './sign-in/oidc-provider.ts';

export interface ConsoleApiParts {
  store: Store;
  now: () => number;
  makers: Makers;
  addresses: Addresses;
  /** Takes a notification as the public API does, but tells only these recipients: for tests by hand. */
  acceptFor: (recipients: Recipients) => Accept;
  /** Who is calling, behind proxies that the operator trusts. */
  clientAddress: (request: FastifyRequest) => string;
  /** null: no mail server is configured. */
  mailer: SignInMailer | null;
  /** null: nobody signs in with an OpenID provider. */
  oidc: OidcProvider | null;
  /** Seals what a cookie keeps between two requests; the same on every node. */
  cookieKey: Buffer;
  /** What is wrong with a Web Push subscription, as JSON; null when nothing is. */
  webPushProblem: (subscription: string) => string | null;
  topicPrefix: string;
  /** However often a session is used, it ends this long after its beginning. */
  sessionMaxMs: number;
  service: Pick<ServiceInfo, 'version' | 'webPushKey' | 'retentionDays' | 'knowsLastSeen'>;
  /** Aborts when the service is to stop: answers that go on for ever end then. */
  stopping: AbortSignal;
  onError: (error: unknown, request: FastifyRequest) => void;
  /** Nobody who asked for the link is told, so that the operator has to be. */
  onMailFailed: (cause: string) => void;
  onOidcFailed: (cause: string) => void;
}

/** A mail that the mail server did not take. What it says is fit for a log: no address, no word of the server. */
export class MailNotSent extends Error {
  override readonly name = 'MailNotSent';
}

/** What an owner is told of, so that nobody else gets into their account unseen. */
export type SecurityNotice =
  | { kind: 'new-browser'; method: SignInMethod; userAgent: string; address: string; at: number }
  | { kind: 'new-passkey'; name: string; at: number }
  /** null: it was removed. */
  | { kind: 'email-changed'; email: string | null; at: number };

/** Mails that have nothing to do with notifications. Each resolves when the mail server took it, else rejects with MailNotSent. */
export interface SignInMailer {
  sendSignInLink(owner: Owner & { email: string }, url: string): Promise<void>;
  sendEmailConfirmation(owner: Owner, email: string, url: string): Promise<void>;
  /** `settingsUrl` is where the owner can undo what happened. */
  sendSecurityNotice(owner: Owner & { email: string }, notice: SecurityNotice, settingsUrl: string): Promise<void>;
}
