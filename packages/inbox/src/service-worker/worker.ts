/** What runs here; TypeScript's library takes it for a plain worker. */
export const worker = self as unknown as ServiceWorkerGlobalScope;
