/** Halide: HALIDE_ROOT, else the wheel in vendor/. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { InstallError } from "./process.mjs";
import { fetchWheel, wheelVersion } from "./wheels.mjs";

const holdsHalide = (root) =>
  existsSync(join(root, "include/Halide.h")) &&
  ["lib64", "lib"].some((folder) => existsSync(join(root, folder, "libHalide.so")));

/** The folder that holds include/Halide.h; `report` hears of a fetch. */
export async function findHalide(root, report, env = process.env) {
  if (env.HALIDE_ROOT) {
    const given = resolve(env.HALIDE_ROOT);
    if (holdsHalide(given)) return given;
    throw new InstallError(
      `HALIDE_ROOT=${env.HALIDE_ROOT} holds no include/Halide.h and lib/libHalide.so: correct it, or unset it to fetch Halide`,
    );
  }
  const version = wheelVersion("halide");
  const target = join(root, "vendor", `halide-${version}`);
  const halide = join(target, "halide");
  if (holdsHalide(halide)) return halide;
  if (existsSync(target)) throw new InstallError(`${target} holds no whole Halide ${version}: remove that folder`);
  if (process.arch !== "x64") {
    throw new InstallError(
      `Halide ${version} has no Linux wheel for ${process.arch}: set HALIDE_ROOT to an installation`,
    );
  }
  const done = report(`fetching Halide ${version} into vendor/`);
  await fetchWheel("halide", target, env);
  done(`Halide ${version} fetched`);
  return halide;
}
