import { deviceName } from '../../push/device-name.ts';
import { text } from '../../text/index.ts';

export function browserInWords(userAgent: string): string {
  const { browser, system } = deviceName(userAgent);
  return text.push.deviceName(browser, system);
}
