// All texts that users read. Another language is another object of the same type.

import { channels } from './en/channels.ts';
import { common } from './en/common.ts';
import { devices } from './en/devices.ts';
import { docs } from './en/docs.ts';
import { inbox } from './en/inbox.ts';
import { keys } from './en/keys.ts';
import { operator } from './en/operator.ts';
import { push } from './en/push.ts';
import { settings } from './en/settings.ts';
import { signIn } from './en/sign-in.ts';

export { locale } from './locale.ts';
export const text = { channels, common, devices, docs, inbox, keys, operator, push, settings, signIn };
