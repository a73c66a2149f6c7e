/** The global scope of this script, which TypeScript's library types as a plain worker. */
export const worker = self as unknown as ServiceWorkerGlobalScope;
