import { readFileSync } from "node:fs";
import type { Build } from "../engine/report.ts";

/** What the build left in `file`; null: it left nothing, as when the sources themselves run. */
function read(file: URL): { readonly commit?: string } | null {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as { commit?: string };
  } catch {
    return null;
  }
}

/** `commitFile` is written by scripts/install/commit.mjs, beside the compiled JavaScript only. */
export function projectBuild(commitFile: URL = new URL("../commit.json", import.meta.url)): Build {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return { version, commit: read(commitFile)?.commit ?? "unknown" };
}

/** As `framelane --version` prints it. */
export const describeBuild = ({ version, commit }: Build): string => `${version} (commit ${commit})`;
