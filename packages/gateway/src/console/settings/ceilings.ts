import { ConsoleRefusal } from '../refusal.ts';

/** So much one owner can have: every list of theirs is read as a whole, and every device and push target is told. */
const ceilings = {
  keys: { most: 1000, remedy: 'Revoke those that nobody uses' },
  devices: { most: 1000, remedy: 'Delete those that nobody uses' },
  'push targets': { most: 100, remedy: 'Remove those that nobody uses' },
} as const;

/** `count`: how many there are. Some more may come in when several are added at the same moment. */
export function checkRoom(what: keyof typeof ceilings, count: number): void {
  const { most, remedy } = ceilings[what];
  if (count >= most)
    throw new ConsoleRefusal('conflict', `You have ${count} ${what}, and ${most} is the most. ${remedy}.`);
}
