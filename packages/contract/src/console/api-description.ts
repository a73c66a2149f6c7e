// The OpenAPI document of the public API, which the app shows also before signing in.
import type { Operation } from './route.ts';
import { anyObject } from './schema.ts';

export const apiDescriptionOperations = {
  getOpenApi: { access: 'public', response: anyObject() },
} as const satisfies Record<string, Operation>;
