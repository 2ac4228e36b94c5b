/** `framelane bench images`: few, large frames through one channel, as a batch job has them. */
import { Command, type Streams } from "../command.ts";
import { benchChannels, type ChannelsOptions } from "./channels-command.ts";
import { device, listOf, oneOf, positive, size, whole } from "./options.ts";
import { waits, workloads } from "./workloads.ts";

type ImagesOptions = Pick<
  ChannelsOptions,
  "device" | "wait" | "inFlight" | "size" | "threads" | "seconds" | "runs" | "json" | "plot"
>;

const { width, height } = workloads.images.size;

async function benchImages(options: ImagesOptions, streams: Streams): Promise<void> {
  const { imagesTable } = await import("./table.ts");
  const inFlight = options.inFlight ?? [3];
  const load = { workload: "images", stagger: "auto", fps: "max", channels: [1], compare: false } as const;
  const plot = { by: "in_flight", counted: "Images" } as const;
  await benchChannels({ ...options, ...load, inFlight }, { table: imagesTable, plot }, streams);
}

export const imagesCommand = (streams: Streams): Command =>
  new Command("images")
    .description("large float32 images through one channel, and how long many of them take")
    .option("--device <id>", "where they run: cpu, cuda:0 ...", device, "cuda:0")
    .option("--size <WxH>", `of the images, three float32 a pixel (default: ${width}x${height})`, size)
    .option(
      "--in-flight <k...>",
      "images in work at once (default: 3); several make several rows, here as elsewhere",
      listOf(whole),
    )
    .option(
      "--wait <list...>",
      `how the worker waits: ${waits.join(", ")} (default: ${waits[0]})`,
      listOf(oneOf(waits)),
    )
    .option("--threads <t>", "CPU threads that work on one image", whole, 1)
    .option("--seconds <s>", "length of each row's measurement", positive, 4)
    .option("--runs <k>", "measures each row so often and shows the median", whole, 1)
    .option("--json <file>", "writes the rows as JSON")
    .option("--plot <file>", "draws images per second by number in flight, as SVG")
    .action((options: ImagesOptions) => benchImages(options, streams));
