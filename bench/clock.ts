/** Milliseconds of the monotonic clock of the system: comparable between processes. */
export function systemMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
