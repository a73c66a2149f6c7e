export * from './allowed-domain.ts';
export * from './data-beside-body.ts';
export * from './errors.ts';
export * from './examples.ts';
export * from './fields.ts';
export * from './keys.ts';
export * from './openapi.ts';
export * from './signature.ts';
export type * from './types.ts';
