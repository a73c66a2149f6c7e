// Interfaces of the use cases to the outside, by subject. Implementations are in store/.
export type * from './clock.ts';
export type * from './deliveries.ts';
export * from './errors.ts';
export type * from './hooks.ts';
export type * from './inbox.ts';
export type * from './limits.ts';
export type * from './master-keys.ts';
export type * from './mqtt-sessions.ts';
export type * from './notifications.ts';
export type * from './owners.ts';
export * from './sign-in.ts';
export type * from './store.ts';
