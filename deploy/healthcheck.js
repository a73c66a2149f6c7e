// The HEALTHCHECK of the image: ends with 0 while the console says that the process runs.
import http from 'node:http';
import https from 'node:https';

const { TOCSIN_CONSOLE_PORT: port, TOCSIN_TLS_CERT: certificate } = process.env;
const { get } = certificate ? https : http;
// The certificate names the host that others use, which 127.0.0.1 is not.
const options = { host: '127.0.0.1', port: port || 8081, path: '/healthz', rejectUnauthorized: false };
get(options, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1));
