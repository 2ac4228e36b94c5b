/** The engine's host process with the fake native engine. */
import { serveEngine } from "../../src/engine/serve-engine.ts";
import { fakeAddon } from "./native-engine.ts";

serveEngine(() => fakeAddon);
