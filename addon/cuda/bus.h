// What goes over a device's bus, and who waits for it.
#pragma once

#include "cuda/admission.h"
#include "cuda/completions.h"
#include "cuda/upload_turns.h"

namespace framelane::cuda {

// A device's bus; both ways at once are as fast as one. Upwards 16 MiB are a third of a millisecond on PCIe 5 x16, time
// enough to wake the next one. Downwards they enter with their upload, so that what is on its way up and in the kernels
// counts as well; a download that finds no room waits for its worker, and the bus may be idle meanwhile.
// Thread-safety: any thread.
struct Bus {
  static constexpr Admission::Limits kUpload{.bytes = uint64_t{16} << 20};
  static constexpr Admission::Limits kDownload{.bytes = uint64_t{64} << 20, .fewest_copies = 8};
  explicit Bus(const Admission::Limits& up = kUpload, const Admission::Limits& down = kDownload) noexcept
      : upload(up), download(down), turns(upload) {}
  // Until then, turns are given back with their frames, and who waits does so in the driver.
  [[nodiscard]] Status open(const Context& context) {
    if (Status status = turns.open(context); !status) return status;
    return completions.open(context);
  }
  // Nobody waits any more.
  void close() noexcept {
    completions.close();
    turns.close();
  }

  Admission upload, download;
  UploadTurns turns;
  Completions completions;
};

}  // namespace framelane::cuda
