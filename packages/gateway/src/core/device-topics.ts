// The MQTT topics of a device.

/** Ids are generated and contain no slash or wildcard, so a topic belongs to exactly one device. */
export function deviceTopic(prefix: string, ownerId: string, deviceId: string): string {
  return `${prefix}/${ownerId}/${deviceId}/notifications`;
}

/** Topic to which a device may publish application-level acknowledgements. */
export function acknowledgementTopic(prefix: string, ownerId: string, deviceId: string): string {
  return `${prefix}/${ownerId}/${deviceId}/ack`;
}
