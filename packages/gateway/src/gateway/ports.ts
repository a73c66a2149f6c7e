// What the use cases need from the outside, by subject. Implementations live in store/ and channels/.
export type * from './ports/channels.ts';
export type * from './ports/clock.ts';
export type * from './ports/deliveries.ts';
export * from './ports/errors.ts';
export type * from './ports/inbox.ts';
export type * from './ports/limits.ts';
export type * from './ports/master-keys.ts';
export type * from './ports/mqtt-sessions.ts';
export type * from './ports/notifications.ts';
export type * from './ports/owners.ts';
export * from './ports/sign-in.ts';
export type * from './ports/store.ts';
