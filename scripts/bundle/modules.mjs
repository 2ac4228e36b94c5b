/** The npm modules that the service imports when it runs, without what their authors ship besides. */
import { cpSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { InstallError } from "../install/process.mjs";

/** `npm install` needs them to build the addon, nothing imports them. */
const buildOnly = new Set(["cmake-js", "node-addon-api", "node-api-headers"]);
/** Beside a module's package.json. Deeper, such a name may hold code: yaml has dist/doc. */
const unwantedFolders = new Set(["test", "tests", "docs", "doc", "example", "examples", "benchmark", "benchmarks"]);
const unwantedFile = /\.(md|markdown|map|[cm]?ts|flow|html|ya?ml|tgz)$|^\.|^(Makefile|Gruntfile.*)$|\.test\.[cm]?js$/i;
const licenceFile = /^(licen[sc]e|copying|notice)\b/i;

const readPackage = (folder) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/** Where `name` is found from the module in `folder`, as Node looks for it; undefined: it is not installed. */
function resolveModule(root, folder, name) {
  for (let from = folder; ; from = dirname(from)) {
    const found = join(from, "node_modules", name);
    if (existsSync(join(found, "package.json"))) return found;
    if (from === root) return undefined;
  }
}

/** The folders of the modules below node_modules that the service needs, sorted. */
export function runtimeModules(root) {
  const found = new Set();
  const visit = (folder, names, optional) => {
    for (const name of names) {
      const module = resolveModule(root, folder, name);
      if (module === undefined && optional) continue;
      if (module === undefined) throw new InstallError(`the npm module ${name} is not installed: npm ci`);
      if (found.has(module)) continue;
      found.add(module);
      const { dependencies = {}, optionalDependencies = {} } = readPackage(module);
      const possible = Object.keys(optionalDependencies);
      const needed = Object.keys(dependencies).filter((dependency) => !possible.includes(dependency));
      visit(module, needed, false);
      visit(module, possible, true);
    }
  };
  const direct = Object.keys(readPackage(root).dependencies).filter((name) => !buildOnly.has(name));
  visit(root, direct, false);
  return [...found].sort();
}

/** Whether a file or folder of a module is taken along; `path` is relative to the module. */
export function isWanted(path) {
  if (path === "" || path === "package.json") return true;
  const parts = path.split(sep);
  if (unwantedFolders.has(parts[0]) || parts.some((part) => part === "node_modules" || part === "__tests__"))
    return false;
  return !unwantedFile.test(parts.at(-1)) && !(parts.length === 1 && licenceFile.test(parts[0]));
}

export function copyModules(root, modules, target) {
  for (const module of modules) {
    const filter = (source) => isWanted(relative(module, source));
    cpSync(module, join(target, relative(root, module)), { recursive: true, dereference: true, filter });
  }
}

/** The licence of a module: { name: "ws@8.0.0", text }. */
export function licenceOf(module) {
  const { name, version, license, author, homepage } = readPackage(module);
  const files = readdirSync(module).filter((file) => licenceFile.test(file));
  const texts = files.sort().map((file) => readFileSync(join(module, file), "utf8"));
  if (texts.length === 0) {
    if (typeof license !== "string") throw new InstallError(`the npm module ${name} states no licence`);
    const by = typeof author === "string" ? author : (author?.name ?? "its authors");
    texts.push(`${name} ${version} by ${by}: ${license}. Its package holds no text of it. ${homepage ?? ""}\n`);
  }
  return { name: `${name.replace("/", "+")}@${version}`, text: texts.join("\n") };
}
