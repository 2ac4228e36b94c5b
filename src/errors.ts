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
  bad_request: { http: 400, exit: 64, text: "The request is not understood." },
  upgrade_required: { http: 426, exit: 69, text: "This is a WebSocket: it takes an upgrade." },
  host_refused: { http: 421, exit: 69, text: "The request names a host that this service does not answer for." },
  origin_refused: { http: 403, exit: 69, text: "A web page from elsewhere may not open this connection." },
  too_many_clients: { http: 503, exit: 69, text: "As many clients as this service takes are connected." },
  unreachable: { http: 502, exit: 69, text: "No Framelane answers there." },
  engine_gone: { http: 503, exit: 69, text: "The engine is not there; another one is being started." },
  runtime_directory_unusable: { http: 500, exit: 73, text: "The runtime directory cannot be created or written." },
  too_many_files: { http: 503, exit: 71, text: "This process may not open as many files as it needs." },
  addon_missing: { http: 500, exit: 69, text: "The native addon is not built; npm run build builds it." },
  // From here on: what native code reports, in the order of addon/core/error_codes.def.
  invalid_argument: { http: 422, exit: 70, text: "A value that should have been refused earlier." },
  unsupported: { http: 422, exit: 78, text: "Not possible with this format, device or build." },
  over_limit: { http: 422, exit: 78, text: "The channel needs more memory than its own bounds allow." },
  out_of_memory: { http: 503, exit: 71, text: "Memory was refused; it is tried again." },
  io_failed: { http: 500, exit: 74, text: "A file or socket could not be read or written." },
  source_unavailable: { http: 503, exit: 69, text: "The source cannot be opened now; it is tried again." },
  source_lost: { http: 503, exit: 69, text: "The source was running and went away; it is tried again." },
  source_malformed: { http: 502, exit: 65, text: "What the source delivers cannot be understood." },
  source_format_changed: { http: 502, exit: 65, text: "The source's frames changed size or format midway." },
  source_stalled: { http: 503, exit: 69, text: "No frame came within the stall time-out." },
  pipeline_invalid: { http: 422, exit: 78, text: "The operations do not fit together or do not fit the frame." },
  pipeline_failed: { http: 500, exit: 70, text: "The pipeline reported an error for a frame." },
  frame_late: { http: 503, exit: 69, text: "The frame's deadline was over before it was begun; it is dropped." },
  compile_failed: { http: 500, exit: 70, text: "The pipeline could not be compiled." },
  device_failed: { http: 503, exit: 69, text: "A call of the GPU's driver failed; it is tried again." },
  device_lost: { http: 503, exit: 69, text: "The GPU is lost to this engine; another engine is started." },
  sink_failed: { http: 500, exit: 74, text: "A sink could not take a frame; the channel goes on." },
  internal: { http: 500, exit: 70, text: "A defect in Framelane." },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof errorCatalogue;

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === "string" && Object.hasOwn(errorCatalogue, code);

const fileLimits = new Map([
  ["EMFILE", "this process may open no more files: raise its limit (ulimit -n, or LimitNOFILE= of the unit)"],
  ["ENFILE", "this machine may open no more files: raise its limit (sysctl fs.file-max)"],
]);

/** An error with a stable code. `detail` says what happened here, in one sentence. */
export class FramelaneError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.name = "FramelaneError";
    this.code = code;
  }

  /** Whatever was thrown, as an error with a code: a code of the catalogue is kept, all else is `internal`. */
  static from(thrown: unknown): FramelaneError {
    if (thrown instanceof FramelaneError) return thrown;
    const code = (thrown as { code?: unknown } | null)?.code;
    const detail = thrown instanceof Error ? thrown.message : String(thrown);
    const limit = typeof code === "string" ? fileLimits.get(code) : undefined;
    if (limit !== undefined) return new FramelaneError("too_many_files", limit, { cause: thrown });
    return new FramelaneError(isErrorCode(code) ? code : "internal", detail, { cause: thrown });
  }

  get exitCode(): number {
    return errorCatalogue[this.code].exit;
  }

  get httpStatus(): number {
    return errorCatalogue[this.code].http;
  }
}
