/**
 * A process of its own that opens the GPUs' driver and prints what it finds, as JSON. The supervisor runs it, so that
 * no driver is ever loaded into the process that must live. The driver's library may come as the argument.
 */
import { loadAddon } from "./binding.ts";

process.stdout.write(JSON.stringify(loadAddon().listDevices(process.argv[2])));
