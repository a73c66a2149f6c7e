// SQLite silently discards everything after the first damaged frame of its write-ahead log. Reading the log before the
// database is opened shows what will be lost. Format: https://sqlite.org/fileformat2.html#walformat
import { readFileSync } from 'node:fs';

const headerBytes = 32;
const frameHeaderBytes = 24;

export interface WalDamage {
  frames: number;
  /** Frames that SQLite will not recover although they were written completely. */
  lostFrames: number;
  lostCommits: number;
}

/** null if the log is missing, empty or intact. An incomplete transaction at its end, after a crash, is not damage. */
export function findWalDamage(databaseFile: string): WalDamage | null {
  const wal = readWal(`${databaseFile}-wal`);
  if (wal === null || wal.length <= headerBytes) return null;
  const words = new DataView(wal.buffer, wal.byteOffset, wal.byteLength);
  const pageBytes = words.getUint32(8);
  const frameBytes = frameHeaderBytes + pageBytes;
  const isLittleEndian = words.getUint32(0) === 0x377f0682;
  let sums: Sums = [0, 0];
  const add = (from: number, to: number): void => {
    sums = addUp(sums, words, from, to, isLittleEndian);
  };
  add(0, 24);
  const isHeaderIntact = sums[0] === words.getUint32(24) && sums[1] === words.getUint32(28);
  // Without a valid header nothing is recovered, and frames of an older log cannot be distinguished.
  if (!isHeaderIntact || pageBytes < 512) {
    const frames = Math.floor((wal.length - headerBytes) / (frameHeaderBytes + 4096));
    return frames === 0 ? null : { frames, lostFrames: frames, lostCommits: 1 };
  }
  const isOfThisLog = (at: number): boolean =>
    words.getUint32(at + 8) === words.getUint32(16) && words.getUint32(at + 12) === words.getUint32(20);
  let isIntact = true;
  const damage: WalDamage = { frames: 0, lostFrames: 0, lostCommits: 0 };
  for (let at = headerBytes; at + frameBytes <= wal.length; at += frameBytes) {
    // Frames after the end of this log belong to an older one.
    if (!isOfThisLog(at)) {
      isIntact = false;
      continue;
    }
    damage.frames += 1;
    if (isIntact) {
      add(at, at + 8);
      add(at + frameHeaderBytes, at + frameBytes);
      isIntact = sums[0] === words.getUint32(at + 16) && sums[1] === words.getUint32(at + 20);
    }
    if (isIntact) continue;
    damage.lostFrames += 1;
    if (words.getUint32(at + 4) !== 0) damage.lostCommits += 1;
  }
  return damage.lostCommits === 0 ? null : damage;
}

type Sums = readonly [number, number];

function addUp([first, second]: Sums, words: DataView, from: number, to: number, isLittleEndian: boolean): Sums {
  let [a, b] = [first, second];
  for (let at = from; at < to; at += 8) {
    a = (a + words.getUint32(at, isLittleEndian) + b) >>> 0;
    b = (b + words.getUint32(at + 4, isLittleEndian) + a) >>> 0;
  }
  return [a, b];
}

/** A log that cannot be read is reported when the database is opened. */
function readWal(file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch {
    return null;
  }
}
