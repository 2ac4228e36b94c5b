// A pipeline on its way from the compile service to a channel.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "core/attention.h"
#include "core/compile_service.h"
#include "core/device.h"

namespace framelane {

// Holds at most one order; a newer one makes the older one's result go to nobody.
// Thread-safety: owned by the worker; a compile that outlives the channel only touches what is shared with it.
class PipelineExchange {
 public:
  PipelineExchange(CompileService& service, Device& device, std::shared_ptr<Attention> attention)
      : service_(service), device_(device), attention_(std::move(attention)) {}

  void order(PipelineRequest request) {
    ticket_ = std::make_shared<Ticket>();
    service_.submit(device_.compiler(), std::move(request),
                    [ticket = ticket_, attention = attention_](Result<std::unique_ptr<Pipeline>> result) {
                      ticket->result.emplace(std::move(result));
                      ticket->ready.store(true, std::memory_order_release);
                      attention->raise();
                    });
  }
  void cancel() noexcept { ticket_.reset(); }
  [[nodiscard]] bool ordered() const noexcept { return ticket_ != nullptr; }
  [[nodiscard]] bool ready() const noexcept {
    return ticket_ != nullptr && ticket_->ready.load(std::memory_order_acquire);
  }
  // Once ready().
  [[nodiscard]] Result<std::unique_ptr<Pipeline>> take() {
    const std::shared_ptr<Ticket> ticket = std::exchange(ticket_, nullptr);
    return std::move(*ticket->result);
  }

 private:
  struct Ticket {
    std::optional<Result<std::unique_ptr<Pipeline>>> result;  // written once, before `ready`
    std::atomic<bool> ready{false};
  };

  CompileService& service_;
  Device& device_;
  const std::shared_ptr<Attention> attention_;
  std::shared_ptr<Ticket> ticket_;
};

}  // namespace framelane
