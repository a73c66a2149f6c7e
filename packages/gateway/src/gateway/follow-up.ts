// Everything that follows a delivery in one process, put together: for requests and for redelivery alike.
import type { ChannelName, DeliveryStore } from './ports.ts';
import { Recovery } from './recovery.ts';
import { createSettle, type Settle } from './settle.ts';
import { Settlements } from './settlements.ts';
import { WaitingRoom } from './waiting-room.ts';

export interface FollowUp {
  settle: Settle;
  settlements: Settlements;
  recovery: Recovery;
  /** The channel works again: what waits for it is tried within a second, wherever redelivery runs. */
  hasten(channel: ChannelName): void;
  /** Writes what is not written yet. */
  close(): Promise<void>;
}

export function createFollowUp(parts: {
  store: DeliveryStore;
  /** How much of one owner may wait to be tried again. */
  maxWaitingPerOwner: number;
  now: () => number;
  random: () => number;
  onFailed: (error: unknown) => void;
}): FollowUp {
  const { store, now, onFailed } = parts;
  const settlements = new Settlements(store, onFailed);
  const room = new WaitingRoom(store, parts.maxWaitingPerOwner, () => performance.now());
  const hasten = (channel: ChannelName): void => {
    store.hastenLanes(channel, now()).catch(onFailed);
  };
  const recovery = new Recovery(hasten);
  return {
    settle: createSettle({ settlements, room, now, random: parts.random }),
    settlements,
    recovery,
    hasten,
    close: () => {
      recovery.close();
      return settlements.close();
    },
  };
}
