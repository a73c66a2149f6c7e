// A rate limit as people write it: `100/m` is a hundred requests per minute.

export interface Rate {
  requests: number;
  seconds: number;
}

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** The units are s, m, h and d. Returns undefined for any other text. */
export function parseRate(text: string): Rate | undefined {
  const [, count, unit = ''] = /^([1-9]\d{0,8})\/([smhd])$/.exec(text.trim()) ?? [];
  return count === undefined ? undefined : { requests: Number(count), seconds: units[unit] as number };
}

export function formatRate(rate: Rate): string {
  const unit = Object.keys(units).find((name) => units[name] === rate.seconds);
  return `${rate.requests}/${unit}`;
}
