// Devices, keys, push targets, preferences, and what operators see.
import type { FastifyInstance } from 'fastify';
import type { ConsoleApiParts } from '../deps.ts';
import { addDeviceRoutes } from './device-routes.ts';
import { addEmailRoutes } from './email-routes.ts';
import { addKeyRoutes } from './key-routes.ts';
import { addOperatorRoutes } from './operator-routes.ts';
import { addPreferenceRoutes } from './preference-routes.ts';
import { addPushTargetRoutes } from './push-target-routes.ts';
import { createTestSender } from './test-sends.ts';

export function addSettingsRoutes(app: FastifyInstance, parts: ConsoleApiParts): void {
  const sendTest = createTestSender(parts);
  addDeviceRoutes(app, parts, sendTest);
  addKeyRoutes(app, parts);
  addPushTargetRoutes(app, parts, sendTest);
  addPreferenceRoutes(app, parts);
  addEmailRoutes(app, parts, sendTest);
  addOperatorRoutes(app, parts);
}
