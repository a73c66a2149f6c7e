// What one peer may cost the embedded broker. Clients send little: they sign in, subscribe and confirm.
import { dayMs } from '../../../core/duration.ts';

export const limits = {
  /** Of a packet that a client sends, without its fixed header. */
  packetBytes: 16 * 1024,
  /** All that may arrive before the sign-in is accepted. */
  bytesBeforeSignIn: 32 * 1024,
  /** The same on a WebSocket, with everything around the packets. */
  webSocketBytesBeforeSignIn: 64 * 1024,
  /** Frames of a WebSocket that carry no part of a packet, at any time. */
  idleFramesPerSecond: 100,
  /** Frames that one message of a WebSocket may come in. */
  fragmentsPerMessage: 64,
  signInMs: 5000,
  /** A client that reads nothing from its socket for this time is disconnected. */
  drainMs: 5000,
  /** Unsent bytes after which a client is dropped at once. */
  unsentBytes: 4 * 1024 * 1024,
  connections: 10_000,
  connectionsPerDevice: 10,
  /** Connections of one address that have not signed in yet; a new one takes the place of the oldest without CONNECT. */
  strangersPerAddress: 1000,
  /** Wrong passwords for one device from one address. */
  failuresPerDeviceAndMinute: 30,
  /** Failed sign-ins from one address, whichever device they name. */
  failuresPerAddressAndSecond: 300,
  /** Devices, or pairs of address and device, for which failed sign-ins are counted. */
  countedFailures: 10_000,
  /** Devices that get past the limits on failures with the password of their last sign-in. */
  rememberedSignIns: 20_000,
  acknowledgementBytes: 1024,
  clientIdLength: 128,
  filterLength: 512,
  filtersPerClient: 20,
  sessionsPerDevice: 20,
  /** Messages sent to one client and not confirmed. */
  inFlight: 100,
  sessionAbsenceMs: 30 * dayMs,
  recheckMs: 500,
  /** How soon it is noted that a device was heard of, and how often the same device. */
  lastSeenMs: 1000,
  lastSeenEveryMs: 60_000,
} as const;
