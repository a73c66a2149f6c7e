// Every word that people read comes from here. Another language is another object of the same type.
import { common } from './en/common.ts';
import { devices } from './en/devices.ts';
import { docs } from './en/docs.ts';
import { inbox } from './en/inbox.ts';
import { keys } from './en/keys.ts';
import { operator } from './en/operator.ts';
import { ring } from './en/ring.ts';
import { settings } from './en/settings.ts';
import { signIn } from './en/sign-in.ts';
import { formatLocale } from './format-locale.ts';

export const text = { common, devices, docs, inbox, keys, operator, ring, settings, signIn };
/** For dates and numbers. */
export const locale = formatLocale('en', globalThis.navigator?.language);
