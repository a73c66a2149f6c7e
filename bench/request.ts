// The request sent to both servers: a notification of a monitoring system, about 300 bytes.
export const notification = {
  title: 'Disk almost full on db-3',
  body: 'The volume /var/lib/postgresql is at 91 % (limit 85 %). At the present rate it is full in 6 h 40 min.',
  source: 'monitoring',
  category: 'task' as const,
  severity: 'warning' as const,
  payload: { host: 'db-3.internal.example', check: 'disk_usage', value: 91, limit: 85, runbook: 'DISK-7' },
};

export const notificationBody = JSON.stringify(notification);

/** The same notification without delivery: it uses the store and no channel. */
export const quietBody = JSON.stringify({ ...notification, sendPush: false, sendEmail: false, sendMqtt: false });

export function notificationRequest(port: number, key: string, body = notificationBody): string {
  return httpRequest(port, '/', { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }, body);
}

export function httpRequest(port: number, path: string, headers: Record<string, string>, body: string): string {
  return [
    `POST ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}
