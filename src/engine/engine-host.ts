/** Entry of the engine's process; forked-engine.ts starts it. */
import { loadAddon } from "../native/binding.ts";
import { serveEngine } from "./serve-engine.ts";

serveEngine(loadAddon);
