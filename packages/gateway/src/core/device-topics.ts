// The MQTT topics of a device.

/** Ids are made by the service and hold no slash or wildcard, so a topic belongs to exactly one device. */
export function deviceTopic(prefix: string, ownerId: string, deviceId: string): string {
  return `${prefix}/${ownerId}/${deviceId}/notifications`;
}

/** Where a device may confirm that it got something. */
export function acknowledgementTopic(prefix: string, ownerId: string, deviceId: string): string {
  return `${prefix}/${ownerId}/${deviceId}/ack`;
}
