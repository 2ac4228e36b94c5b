/** CLOCK_MONOTONIC in nanoseconds: the same clock as the native side's. Exact below 2^53 ns, 104 days of uptime. */
export function monotonicNs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e9 + nanoseconds;
}
