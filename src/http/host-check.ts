/**
 * Which names a request may call this service by. A page from elsewhere can make a browser send requests to a loopback
 * address under its own name (DNS rebinding); it cannot make the browser send another Host.
 */
import { FramelaneError } from "../errors.ts";

const loopbackName = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/i;

/** The name without its port: "[::1]:8600" -> "[::1]". */
const withoutPort = (host: string): string => host.replace(/:\d+$/, "");

const isLoopbackHost = (host: string | undefined): boolean =>
  host !== undefined && loopbackName.test(withoutPort(host));

export function checkHost(host: string | undefined): void {
  if (isLoopbackHost(host)) return;
  throw new FramelaneError("host_refused", `The Host "${host ?? ""}" is none of localhost, 127.x.x.x and [::1].`);
}

/** Programs send no Origin; a page must come from this very service. */
export function checkOrigin(origin: string | undefined, host: string | undefined): void {
  if (origin === undefined) return;
  const own = URL.canParse(origin) ? new URL(origin).host : undefined;
  if (own !== undefined && own === host?.toLowerCase()) return;
  throw new FramelaneError("origin_refused", `A page of ${origin} may not open this connection.`);
}
