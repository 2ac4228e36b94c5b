#include "cuda/block_events.h"

namespace framelane::cuda {

BlockEvents::~BlockEvents() {
  for (const auto& event : all_) (void)driver_.cuEventDestroy(event->event);
}

Status BlockEvents::make() {
  auto made = std::make_unique<BlockEvent>();
  if (const CUresult result = driver_.cuEventCreate(&made->event, CU_EVENT_DISABLE_TIMING); result != CUDA_SUCCESS)
    return driver_.error("cuEventCreate", result);
  free_.push_back(made.get());
  all_.push_back(std::move(made));
  return {};
}

Status BlockEvents::prepare(uint32_t count) {
  while (free_.size() < count) {
    if (Status made = make(); !made) return made;
  }
  return {};
}

Result<BlockEvent*> BlockEvents::record(CUstream stream) {
  if (Status ready = prepare(1); !ready) return ready.error();
  BlockEvent* const event = free_.back();
  if (const CUresult result = driver_.cuEventRecord(event->event, stream); result != CUDA_SUCCESS)
    return driver_.error("cuEventRecord", result);
  free_.pop_back();
  event->complete = false;
  return event;
}

bool BlockEvents::ask(BlockEvent& event) const noexcept {
  if (!event.complete) event.complete = driver_.cuEventQuery(event.event) == CUDA_SUCCESS;
  return event.complete;
}

void BlockEvents::ask_all() const noexcept {
  for (const auto& event : all_) {
    if (event->blocks > 0) (void)ask(*event);
  }
}

void BlockEvents::drop(BlockEvent& event, uint32_t blocks) noexcept {
  event.blocks -= blocks;
  if (event.blocks == 0) free_.push_back(&event);
}

}  // namespace framelane::cuda
