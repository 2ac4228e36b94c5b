/** What systemd wants to hear from a service of Type=notify; silent where nobody listens. */

export type SendDatagram = (path: string, message: string) => void;

export interface NotifierOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly send: SendDatagram;
  /** False while the event loop turns and yet nothing gets on: then the watchdog is not fed. */
  readonly makesProgress: () => boolean;
}

/** Feeding twice per period leaves room for one late turn of the event loop. */
const feedsPerPeriod = 2;

export class Notifier {
  readonly #options: NotifierOptions;
  readonly #socket: string | undefined;
  #status = "";
  #timer: NodeJS.Timeout | undefined;

  constructor(options: NotifierOptions) {
    this.#options = options;
    this.#socket = options.environment["NOTIFY_SOCKET"] || undefined;
  }

  ready(status: string): void {
    this.#status = status;
    this.#send(`READY=1\nSTATUS=${status}\nMAINPID=${process.pid}`);
    this.#startFeeding();
  }

  /** Says nothing when nothing has changed. */
  status(status: string): void {
    if (status === this.#status) return;
    this.#status = status;
    this.#send(`STATUS=${status}`);
  }

  stopping(): void {
    clearInterval(this.#timer);
    this.#send("STOPPING=1\nSTATUS=stopping");
  }

  #startFeeding(): void {
    const { environment } = this.#options;
    const microseconds = Number(environment["WATCHDOG_USEC"] ?? 0);
    const forUs = environment["WATCHDOG_PID"] === undefined || Number(environment["WATCHDOG_PID"]) === process.pid;
    if (this.#socket === undefined || !forUs || !(microseconds > 0)) return;
    this.#timer = setInterval(
      () => {
        if (this.#options.makesProgress()) this.#send("WATCHDOG=1");
      },
      microseconds / 1000 / feedsPerPeriod,
    );
    this.#timer.unref();
  }

  #send(message: string): void {
    if (this.#socket === undefined) return;
    try {
      this.#options.send(this.#socket, message);
    } catch {
      // systemd is being restarted, or its queue is full: the next message will do.
    }
  }
}
