/** A folder as one tar.xz: the same bytes for the same contents, as small as xz makes it. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, createReadStream, mkdirSync, openSync, readSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { InstallError } from "../install/process.mjs";

const mebibyte = 2 ** 20;
/** What xz takes for its match finder with each mebibyte of dictionary, measured; and a little besides. */
const memoryPerDictionaryByte = 11.5;
const dictionaries = [192, 96, 64, 32];

/** The largest dictionary, in MiB, that the free memory allows. */
export const chooseDictionary = (freeBytes) =>
  dictionaries.find((size) => size * mebibyte * memoryPerDictionaryByte < freeBytes * 0.9) ?? dictionaries.at(-1);

function compression(fast, say) {
  if (fast) return ["-0", "-T0"];
  const dictionary = chooseDictionary(process.availableMemory());
  if (dictionary !== dictionaries[0]) {
    say(`memory for a dictionary of ${dictionary} MiB only: the bundle gets larger, and is not the usual one`);
  }
  // One thread: several cut the input into blocks that know nothing of each other.
  return ["-T1", "--x86", `--lzma2=preset=9e,dict=${dictionary}MiB`];
}

function ended(child, what) {
  return new Promise((resolve, reject) => {
    child.on("error", (error) => reject(new InstallError(`${what} does not run: ${error.message}`)));
    child.on("close", (code) => (code === 0 ? resolve() : reject(new InstallError(`${what} failed`))));
  });
}

/** `folder` with everything in it becomes `archive`. Times are `epoch`, owners are root, names are sorted. */
export async function pack(folder, archive, epoch, { fast, say }) {
  const tarArguments = ["--create", "--format=gnu", "--sort=name", `--mtime=@${epoch}`, "--mode=u+rwX,go+rX,go-w"];
  tarArguments.push("--owner=0", "--group=0", "--numeric-owner", "--directory", dirname(folder), basename(folder));
  // C, because the order of --sort follows the locale of nobody else; XZ_DEFAULTS would change the result.
  const env = { PATH: process.env.PATH, LC_ALL: "C" };
  const tar = spawn("tar", tarArguments, { env, stdio: ["ignore", "pipe", "inherit"] });
  const output = openSync(archive, "w");
  const xz = spawn("xz", ["--compress", "--stdout", ...compression(fast, say)], {
    env,
    stdio: ["pipe", output, "inherit"],
  });
  closeSync(output);
  await Promise.all([ended(tar, "tar"), ended(xz, "xz (apt-get install xz-utils)"), pipeline(tar.stdout, xz.stdin)]);
}

export async function sha256(path) {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

/** Bytes of "60MiB" or "500kB". */
export function parseSize(text) {
  const match = /^([1-9]\d*)\s*(k|M|G)(i?)B$/i.exec(text);
  if (!match) throw new InstallError(`--split takes a size like 60MiB, not ${text}`);
  const [, number, prefix, binary] = match;
  return Number(number) * (binary ? 1024 : 1000) ** " kMG".toLowerCase().indexOf(prefix.toLowerCase());
}

/** Cuts `archive` into parts of `size` bytes in `archive`.parts/, with a note on how to join them. */
export function split(archive, size, digest) {
  const folder = `${archive}.parts`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const name = basename(archive);
  const total = statSync(archive).size;
  const parts = Math.ceil(total / size);
  const input = openSync(archive, "r");
  for (let part = 0; part < parts; part++) {
    const bytes = Buffer.alloc(Math.min(size, total - part * size));
    for (let read = 0; read < bytes.length; ) read += readSync(input, bytes, read, bytes.length - read);
    writeFileSync(join(folder, `${name}.part-${String(part + 1).padStart(2, "0")}`), bytes);
  }
  closeSync(input);
  const note = [
    `${name} in ${parts} parts. With all of them in one folder:`,
    "",
    `  cat ${name}.part-* > ${name}`,
    `  echo "${digest}  ${name}" | sha256sum -c`,
    `  tar -xJf ${name}`,
    "",
  ];
  writeFileSync(join(folder, "JOIN.txt"), note.join("\n"));
  return parts;
}
