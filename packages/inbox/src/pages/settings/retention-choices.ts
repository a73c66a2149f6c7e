const presets = [1, 7, 30, 90, 180, 365, 730];

/** In days, longest first; null is the default of the service. `serviceDays` of 0 means forever. */
export function retentionChoices(serviceDays: number, current: number | null): (number | null)[] {
  const maxDays = serviceDays === 0 ? Number.POSITIVE_INFINITY : serviceDays;
  const choices = new Set(presets.filter((days) => days < maxDays));
  if (current !== null) choices.add(current);
  return [null, ...[...choices].sort((a, b) => b - a)];
}
