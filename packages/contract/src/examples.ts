// Requests that work as they are, shown in the OpenAPI document and sent by the tests.
import type { NotificationRequest } from './types.ts';

export interface RequestExample {
  summary: string;
  value: NotificationRequest;
}

export const jsonExamples: Record<string, RequestExample> = {
  minimal: {
    summary: 'The shortest useful notification',
    value: { title: 'Backup finished' },
  },
  monitoring: {
    summary: 'An alert of a monitoring tool with its readings',
    value: {
      title: 'Disk almost full on db-1',
      body: 'Only 3 % are left on /var/lib/postgresql.',
      source: 'monitoring',
      severity: 'critical',
      payload: { host: 'db-1', mount: '/var/lib/postgresql', freePercent: 3 },
    },
  },
  pipeline: {
    summary: 'A CI job, with aliases and custom fields',
    value: {
      subject: 'Build 512 failed',
      description: 'Three tests failed on main.',
      service: 'ci',
      severity: 'failed',
      category: 'task',
      sendEmail: true,
      commit: '9fceb02',
      data: { duration: 184, url: 'https://ci.example.com/builds/512' },
    },
  },
  tableOnly: {
    summary: 'No body: the app shows the data as a table',
    value: { title: 'Daily figures', data: { orders: 128, refunds: 2, revenue: '4 210.50 EUR' } },
  },
  quiet: {
    summary: 'Stored only, not delivered over any channel',
    value: { title: 'For the record', sendPush: false, sendEmail: false, sendMqtt: false },
  },
};

export const formExample = {
  summary: 'A form; objects are JSON text',
  value: {
    title: 'New contact request',
    body: 'Ann would like a call.',
    payload: '{"name":"Ann","phone":"+49 30 1234"}',
  },
};

export const textExample = { summary: 'Plain text becomes the body', value: 'The washing machine is done.' };
