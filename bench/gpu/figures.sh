#!/usr/bin/env bash
# Takes the figures of a machine with a GPU, as bench/results/*-h200.json have them:
#   bench/gpu/figures.sh FRAMELANE FOLDER [channels|spread|waits|paced|neighbour|latency|images|peers|cache|operations|sixteen]...
# FRAMELANE: bin/framelane of the bundle. Each writes FOLDER/NAME.json and, where it has a plot, NAME.svg. Without a name:
# all of them. One that fails is named at the end; the others are taken all the same.
set -uo pipefail

[ $# -ge 2 ] || { sed -n 2,6p "$0" >&2; exit 64; }
framelane=$1 folder=$2
shift 2
all=(channels spread waits paced neighbour latency images peers cache operations sixteen)
[ $# -gt 0 ] || set -- "${all[@]}"
here=$(dirname "$0")
mkdir -p "$folder"
device=${DEVICE:-cuda:0}
python=${PYTHON:-python3}

r14() { "$framelane" bench channels --workload r14 --device "$device" "$@"; }
written() { echo "--json $folder/$1.json --plot $folder/$1.svg"; }

channels() {
  r14 --channels 1,2,4,8,16,32,64 --in-flight 3 --seconds 2 --runs "${RUNS:-1}" \
    --modes stock,stock-streams,stock-reuse,framelane-direct,framelane-replay $(written channels)
}
# How far the rate of the modes jumps from run to run.
spread() {
  r14 --channels 16 --in-flight 3 --seconds 1 --runs 5 --modes stock,stock-reuse,framelane-replay --json "$folder/spread.json"
}
waits() { r14 --channels 1,16,64 --in-flight 1,3 --wait blocking,spin --json "$folder/waits.json"; }
# Rows of three commands in one file: each has another rate.
paced() {
  r14 --channels 64 --fps 120 --seconds 10 --json "$folder/paced-1.json" &&
    r14 --channels 64 --fps 120 --seconds 10 --stagger off --json "$folder/paced-2.json" &&
    r14 --channels 16 --fps 240 --seconds 10 --json "$folder/paced-3.json" &&
    "$python" - "$folder" <<'PYTHON'
import json, os, sys
parts = [os.path.join(sys.argv[1], f"paced-{part}.json") for part in (1, 2, 3)]
results = [json.load(open(part)) for part in parts]
whole = {**results[0], "rows": [row for result in results for row in result["rows"]]}
json.dump(whole, open(os.path.join(sys.argv[1], "paced.json"), "w"), indent=2)
for part in parts:
    os.remove(part)
PYTHON
}
neighbour() { "$framelane" bench neighbour --device "$device" $(written neighbour); }
latency() { "$framelane" bench latency --device "$device" $(written latency); }
images() { "$framelane" bench images --device "$device" --in-flight 1,2,3,4 --wait blocking,spin --seconds 2 $(written images); }
peers() { "$framelane" bench peers --device "$device" --python "$python" --seconds 1 $(written peers); }
cache() { "$framelane" bench cache --device "$device" $(written cache); }
operations() { "$framelane" bench operations --device "$device" $(written operations); }
sixteen() { "$python" "$here/sixteen_channels.py" "$framelane" --json "$folder/sixteen.json"; }

failed=()
for name in "$@"; do
  [[ " ${all[*]} " == *" $name "* ]] || { echo "there is no '$name': ${all[*]}" >&2; exit 64; }
  echo "== $name"
  "$name" || failed+=("$name")
done
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
