const usual = [1, 7, 30, 90, 180, 365, 730];

/** In days, longest first; null is as long as the service keeps everybody's. `serviceDays` of 0 is for ever. */
export function retentionChoices(serviceDays: number, present: number | null): (number | null)[] {
  const most = serviceDays === 0 ? Number.POSITIVE_INFINITY : serviceDays;
  const choices = new Set(usual.filter((days) => days < most));
  if (present !== null) choices.add(present);
  return [null, ...[...choices].sort((a, b) => b - a)];
}
