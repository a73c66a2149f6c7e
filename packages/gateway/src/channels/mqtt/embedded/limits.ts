// Limits on what one peer may cost the embedded broker. Clients send little: they sign in, subscribe and acknowledge.
import { dayMs } from '../../../core/duration.ts';

export const limits = {
  /** Size of a packet that a client sends, without its fixed header. */
  packetBytes: 16 * 1024,
  /** All bytes that a peer may send before its sign-in is accepted. */
  bytesBeforeSignIn: 32 * 1024,
  /** The same on a WebSocket, including control frames and frame headers. */
  webSocketBytesBeforeSignIn: 64 * 1024,
  /** Frames of a WebSocket that contain no part of a packet, before and after the sign-in. */
  idleFramesPerSecond: 100,
  /** Frames of one WebSocket message. */
  fragmentsPerMessage: 64,
  signInMs: 5000,
  /** A client that reads nothing from its socket for this time is disconnected. */
  drainMs: 5000,
  /** Unsent bytes above which a client is disconnected at once. */
  unsentBytes: 4 * 1024 * 1024,
  connections: 10_000,
  connectionsPerDevice: 10,
  /**
   * Connections from one address that have not sent CONNECT; a further one replaces the oldest. Those that are signing in
   * are not limited by address: thousands of devices behind one address reconnect at once after a restart.
   */
  idlePerAddress: 1000,
  /**
   * Connections that the system holds until they are accepted. It drops further ones, and devices wait for a second and
   * more before they try again. Linux allows 4096 (net.core.somaxconn); the default of Node is 511.
   */
  backlog: 4096,
  /** Wrong passwords for one device from one address. */
  failuresPerDeviceAndMinute: 30,
  /** Failed sign-ins from one address, for any device. */
  failuresPerAddressAndSecond: 300,
  /** Devices, or pairs of address and device, for which failed sign-ins are counted. */
  countedFailures: 10_000,
  /** Devices whose last accepted password is exempt from the limits on failures. */
  rememberedSignIns: 20_000,
  acknowledgementBytes: 1024,
  clientIdLength: 128,
  filterLength: 512,
  filtersPerClient: 20,
  sessionsPerDevice: 20,
  /** The window: messages sent to one client and not acknowledged. */
  inFlight: 100,
  /** How long a session is kept without a connection. */
  sessionAbsenceMs: 30 * dayMs,
  /** Interval of the check whether connected devices were revoked. */
  revocationCheckMs: 500,
  /** Delay between the activity of devices and the write of it. */
  lastSeenMs: 1000,
  /** Interval between two writes for the same device. */
  lastSeenEveryMs: 60_000,
} as const;
