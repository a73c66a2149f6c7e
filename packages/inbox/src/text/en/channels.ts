export const channels = {
  push: { label: 'Push', quietHoursLabel: 'Push to browsers and phones' },
  email: { label: 'Email', quietHoursLabel: 'Email' },
  mqtt: { label: 'MQTT', quietHoursLabel: 'MQTT devices' },
};
