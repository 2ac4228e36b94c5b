/** Errors as RFC 9457 problem details. */
import { STATUS_CODES } from "node:http";
import { type ErrorCode, errorCatalogue, FramelaneError } from "../errors.ts";

export const problemMediaType = "application/problem+json";

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance?: string;
  /** Stable: what programs look at. */
  readonly code: ErrorCode;
}

export function toProblem(error: FramelaneError, instance?: string): Problem {
  return {
    type: `urn:framelane:error:${error.code}`,
    title: errorCatalogue[error.code].text,
    status: error.httpStatus,
    detail: error.message,
    ...(instance === undefined ? {} : { instance }),
    code: error.code,
  };
}

/** A problem as the whole answer on a bare socket, where no request object exists: refused upgrades. */
export function problemResponse(error: FramelaneError): string {
  const body = JSON.stringify(toProblem(error));
  return [
    `HTTP/1.1 ${error.httpStatus} ${STATUS_CODES[error.httpStatus] ?? "Error"}`,
    "Connection: close",
    `Content-Type: ${problemMediaType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "",
    body,
  ].join("\r\n");
}

/** What the framework or a handler threw, as an error of the catalogue. */
export function toFramelaneError(thrown: unknown): FramelaneError {
  if (thrown instanceof FramelaneError) return thrown;
  const status = (thrown as { statusCode?: unknown } | null)?.statusCode;
  if (typeof status === "number" && status >= 400 && status < 500) {
    const { code, message } = thrown as Error & { code?: string };
    const said =
      code === "FST_ERR_CTP_INVALID_MEDIA_TYPE" ? "The body has to be Content-Type: application/json." : message;
    return new FramelaneError("bad_request", said, { cause: thrown });
  }
  return FramelaneError.from(thrown);
}
