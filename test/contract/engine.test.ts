import { ForkedEngine } from "../../src/engine/forked-engine.ts";
import { InProcessEngine } from "../../src/engine/in-process-engine.ts";
import { loadAddon } from "../../src/native/binding.ts";
import { fakeAddon } from "../fakes/native-engine.ts";
import { engineContract } from "./engine-contract.ts";

const fakeHost = new URL("../fakes/engine-host.ts", import.meta.url);

engineContract("in-process engine, fake native", (options) => new InProcessEngine(options, fakeAddon));
engineContract("forked engine, fake native", (options) => new ForkedEngine(options, { host: fakeHost }));
engineContract("in-process engine, addon", (options) => new InProcessEngine(options, loadAddon()));
engineContract("forked engine, addon", (options) => new ForkedEngine(options));
