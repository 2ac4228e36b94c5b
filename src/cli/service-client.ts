/** How the commands ask a running service. */
import { once } from "node:events";
import { type IncomingMessage, get as plainGet } from "node:http";
import { get as secureGet } from "node:https";
import { FramelaneError } from "../errors.ts";
import type { Address } from "./service-address.ts";

export const defaultUrl = "http://127.0.0.1:8600";
const answerWithinMs = 5000;

/** What a person calls the ways not to get an answer. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EHOSTUNREACH: "no route to it",
  ENETUNREACH: "no route to it",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "no such host",
  ABORT_ERR: `no answer within ${answerWithinMs / 1000} s`,
};

/** Not fetch(): it refuses ports that a browser must not touch. */
async function getText(target: URL): Promise<{ status: number; text: string }> {
  const get = target.protocol === "https:" ? secureGet : plainGet;
  const request = get(target, { signal: AbortSignal.timeout(answerWithinMs) });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  let text = "";
  for await (const part of response.setEncoding("utf8")) text += part;
  return { status: response.statusCode ?? 0, text };
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function fetchBody(target: URL, { url, help }: Address): Promise<Readonly<Record<string, unknown>>> {
  const nobody = (why: string, cause?: unknown): FramelaneError =>
    new FramelaneError("unreachable", `${why} ${help()}`.trimEnd(), { cause });
  const answer = await getText(target).catch((thrown: NodeJS.ErrnoException) => {
    const reason = reasons[thrown.code ?? ""] ?? thrown.code ?? thrown.message;
    throw nobody(`No Framelane answers at ${url} (${reason}).`, thrown);
  });
  const body = answer.status === 200 ? parsed(answer.text) : undefined;
  if (typeof body === "object" && body !== null) return body;
  throw nobody(`${target} answers ${answer.status}, and not as Framelane does.`);
}

/** The list that stands by this name in the answer to a GET of `path`. */
export async function fetchList<T>(address: Address, path: string, name: string): Promise<readonly T[]> {
  const target = new URL(path, address.url);
  const list = (await fetchBody(target, address))[name];
  if (Array.isArray(list)) return list as readonly T[];
  throw new FramelaneError("unreachable", `${target} answers 200, and not as Framelane does.`);
}
