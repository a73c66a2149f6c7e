/** The name of MQTT in a WebSocket handshake, required by MQTT-6.0.0-4. */
export const subprotocol = 'mqtt';
/** How long a connection is idle before TCP probes its peer. */
export const keepAliveMs = 60_000;
