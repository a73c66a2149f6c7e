// What a probe of the console is: a response to a request for one path, without the framework of the app.
import type { IncomingMessage } from 'node:http';

export interface ProbeResponse {
  status: number;
  /** Anything but text is sent as JSON. */
  body: object | string;
  /** The media type; default JSON. */
  type?: string;
}

export type Probe = (request: IncomingMessage) => Promise<ProbeResponse>;
