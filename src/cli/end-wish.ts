/** The signals that ask a service for its end. Needs nothing else, so that it can listen before anything is loaded. */

export interface EndWish {
  /** Resolves with the first signal. */
  readonly came: Promise<void>;
  isThere(): boolean;
}

/**
 * Ctrl-C reaches the process from the terminal, and again from npm, which passes on what it got itself: signals that
 * come so close together are one wish.
 */
const oneWishMs = 1000;

let wish: EndWish | undefined;

/** Listens from the first call on; a signal later than the first is impatience and ends the process at once. */
export function endWish(): EndWish {
  wish ??= listen();
  return wish;
}

function listen(): EndWish {
  let askedMs: number | undefined;
  const came = new Promise<void>((resolve) => {
    for (const [signal, number] of [
      ["SIGINT", 2],
      ["SIGTERM", 15],
    ] as const) {
      process.on(signal, () => {
        if (askedMs !== undefined && performance.now() - askedMs >= oneWishMs) process.exit(128 + number);
        askedMs ??= performance.now();
        resolve();
      });
    }
  });
  return { came, isThere: () => askedMs !== undefined };
}
