/** Keeps what a configuration's references stand for, and who logs in where, out of all that is told. */

/** What a reference in a text stands for. */
export interface Secret {
  readonly value: string;
  /** As the file has it: `${credential:camera}`. */
  readonly reference: string;
}

/** Anything shorter is part of too many words; a log-in is hidden whatever its length. */
const shortestSecret = 4;

/** The authority's part before its last `@`, in an address that may stand in the middle of a text. */
const userInfo = /([A-Za-z][A-Za-z0-9+.-]*:\/\/)[^\s/?#]*@/g;

/** Gives a text back with every secret as its reference and every log-in of an address as `***`. */
export type Redact = (text: string) => string;

export function makeRedact(secrets: readonly Secret[]): Redact {
  const known = secrets
    .filter(({ value }) => value.length >= shortestSecret)
    // One secret may hold another.
    .toSorted((a, b) => b.value.length - a.value.length);
  return (text) => {
    let result = text;
    for (const { value, reference } of known) result = result.replaceAll(value, () => reference);
    return result.replaceAll(userInfo, "$1***@");
  };
}
