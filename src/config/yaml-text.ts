/** YAML text to nodes with places: syntax errors as problems, aliases with what they stand for. */
import { type Alias, type Document, isAlias, isNode, LineCounter, type Node, parseDocument, visit } from "yaml";
import type { ConfigProblem } from "./problem.ts";

export interface YamlText {
  readonly file: string;
  /** null: the text says nothing. */
  readonly root: Node | null;
  readonly lines: LineCounter;
  /** What each alias stands for; an alias without an anchor before it is not in it. */
  readonly targets: ReadonlyMap<Alias, Node>;
}

/** Once a text is no YAML, what follows is mostly consequence. */
const mostFaults = 20;

/** An alias means the last anchor of its name before it. One walk for all, since yaml's own search is one each. */
function findTargets(document: Document): Map<Alias, Node> {
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  visit(document, (_key, node) => {
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      if (target !== undefined) targets.set(node, target);
    } else if (isNode(node) && node.anchor !== undefined) {
      anchors.set(node.anchor, node);
    }
  });
  return targets;
}

function faultText({ code, message }: { code: string; message: string }): string {
  if (code === "MULTIPLE_DOCS") return "expected one YAML document, found another after it";
  return `not YAML: ${message}`;
}

export function parseYaml(text: string, file: string): YamlText | { readonly problems: ConfigProblem[] } {
  const lines = new LineCounter();
  const problem = (offset: number, message: string): ConfigProblem => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(1, line), column: Math.max(1, col), path: "", message };
  };
  const tooDeep = (offset: number) => ({ problems: [problem(offset, "nested too deeply for any configuration")] });
  try {
    // The reader finds duplicates itself, in linear time and with both places.
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
    const faults = [...document.errors, ...document.warnings];
    const overflow = faults.find(({ message }) => message.includes("call stack"));
    if (overflow !== undefined) return tooDeep(overflow.pos[0]);
    if (faults.length > 0) {
      return { problems: faults.slice(0, mostFaults).map((fault) => problem(fault.pos[0], faultText(fault))) };
    }
    return { file, root: document.contents as Node | null, lines, targets: findTargets(document) };
  } catch (error) {
    if (error instanceof RangeError) return tooDeep(0);
    throw error;
  }
}
