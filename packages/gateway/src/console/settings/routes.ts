// Devices, keys, push targets, preferences, and the owners for operators.
import type { FastifyInstance } from 'fastify';
import type { ConsoleApiDeps } from '../deps.ts';
import { addDeviceRoutes } from './device-routes.ts';
import { addEmailRoutes } from './email-routes.ts';
import { addKeyRoutes } from './key-routes.ts';
import { addOwnerRoutes } from './owner-routes.ts';
import { addPreferenceRoutes } from './preference-routes.ts';
import { addPushTargetRoutes } from './push-target-routes.ts';
import { createTestSender } from './test-sends.ts';

export function addSettingsRoutes(app: FastifyInstance, deps: ConsoleApiDeps): void {
  const sendTest = createTestSender(deps);
  addDeviceRoutes(app, deps, sendTest);
  addKeyRoutes(app, deps);
  addPushTargetRoutes(app, deps, sendTest);
  addPreferenceRoutes(app, deps);
  addEmailRoutes(app, deps, sendTest);
  addOwnerRoutes(app, deps);
}
