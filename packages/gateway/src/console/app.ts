// The framework of the console's pages and their API. It is loaded when a client first asks for more than the probes.
import { stringify } from '@tocsin/contract';
import Fastify, { type FastifyInstance } from 'fastify';
import { sendRefusal } from './errors.ts';
import { routeNotFound } from './refusal.ts';

const maxBodyBytes = 65_536;

export function createConsoleApp(): FastifyInstance {
  const app = Fastify({
    logger: false,
    bodyLimit: maxBodyBytes,
    // Paths that cannot be decoded or are too long: the error of the framework would repeat them.
    frameworkErrors: (_error, _request, reply) => sendRefusal(reply, routeNotFound()),
  });
  app.setReplySerializer(stringify);
  return app;
}
