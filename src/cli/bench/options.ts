/** How the words of `framelane bench` are read. */
import { InvalidArgumentError } from "commander";

const most = 1024;

export function whole(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1 || number > most) {
    throw new InvalidArgumentError(`Expected a whole number from 1 to ${most}.`);
  }
  return number;
}

export function positive(text: string): number {
  const number = Number(text);
  if (!(number > 0 && number <= 100_000)) throw new InvalidArgumentError("Expected a number above 0.");
  return number;
}

export function size(text: string): { width: number; height: number } {
  const found = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(text);
  if (found === null) throw new InvalidArgumentError("Expected WIDTHxHEIGHT, as 1920x1080.");
  return { width: Number(found[1]), height: Number(found[2]) };
}

export function device(text: string): string {
  if (!/^(cpu|cuda:\d{1,3})$/.test(text)) throw new InvalidArgumentError("Expected cpu or a GPU such as cuda:0.");
  return text;
}

export const pace = (text: string): number | "max" => (text === "max" ? "max" : positive(text));

export const oneOf =
  <T extends string>(names: readonly T[]) =>
  (text: string): T => {
    const found = names.find((name) => name === text);
    if (found === undefined) throw new InvalidArgumentError(`Expected some of ${names.join(", ")}.`);
    return found;
  };

/** `1,2 4` and `1 2 4` alike. */
export const listOf =
  <T>(one: (text: string) => T) =>
  (text: string, before: unknown): T[] => [
    ...(Array.isArray(before) ? (before as T[]) : []),
    ...text.split(",").map(one),
  ];
