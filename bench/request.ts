// The request that both servers get: a notification as a monitoring system sends it, about 300 bytes.
const notification = {
  title: 'Disk almost full on db-3',
  body: 'The volume /var/lib/postgresql is at 91 % (limit 85 %). At the present rate it is full in 6 h 40 min.',
  source: 'monitoring',
  category: 'task',
  severity: 'warning',
  payload: { host: 'db-3.internal.example', check: 'disk_usage', value: 91, limit: 85, runbook: 'DISK-7' },
};

export const notificationBody = JSON.stringify(notification);

export function notificationRequest(port: number, key: string): string {
  return [
    'POST / HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(notificationBody)}`,
    '',
    notificationBody,
  ].join('\r\n');
}
