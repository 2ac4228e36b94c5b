/**
 * A process of its own that loads both addons and prints what they are, as JSON. `framelane doctor` runs it,
 * so that an addon that cannot even be loaded on this machine is a finding and not a crash.
 */
import { loadAddon, loadSystemAddon } from "./binding.ts";

loadSystemAddon();
process.stdout.write(JSON.stringify(loadAddon().build));
