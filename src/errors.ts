/** Errors that people and programs see: one catalogue of stable codes. */

export interface ErrorKind {
  /** HTTP status with which the code is answered. */
  readonly http: number;
  /** Exit code of the CLI (sysexits.h). */
  readonly exit: number;
  /** One line for documents: what happened and what helps. */
  readonly text: string;
}

/** Every stable error code. Codes are never renamed: users script against them. */
export const errorCatalogue = {
  config_invalid: { http: 422, exit: 78, text: "The configuration does not describe something that can run." },
  config_unreadable: { http: 422, exit: 66, text: "The configuration file cannot be read." },
  usage: { http: 400, exit: 64, text: "The command line is not understood." },
  not_found: { http: 404, exit: 69, text: "There is no such thing." },
  address_in_use: { http: 500, exit: 69, text: "Another program listens on this address." },
  already_running: { http: 500, exit: 75, text: "Another Framelane uses this runtime directory." },
  internal: { http: 500, exit: 70, text: "A defect in Framelane." },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof errorCatalogue;

/** An error with a stable code. `detail` says what happened here, in one sentence. */
export class FramelaneError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.name = "FramelaneError";
    this.code = code;
  }

  get exitCode(): number {
    return errorCatalogue[this.code].exit;
  }

  get httpStatus(): number {
    return errorCatalogue[this.code].http;
  }
}
