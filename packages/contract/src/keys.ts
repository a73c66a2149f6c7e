// API keys: prefix, types and headers, sections 2.3 and 5.

export const keyPrefix = 'svc_';

export const keyTypes = ['public_client', 'internal_service', 'site_server', 'headless_server'] as const;
export type KeyType = (typeof keyTypes)[number];

/** The types that may send notifications. */
export const notifyKeyTypes = ['public_client', 'internal_service'] as const satisfies readonly KeyType[];

export function maySendNotifications(type: KeyType): boolean {
  return (notifyKeyTypes as readonly KeyType[]).includes(type);
}

export const keyHeaders = ['Authorization', 'X-API-Key', 'X-SERVICE-Key'] as const;
