#include "cuda/host_memory.h"

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <mutex>

#include "core/memory_mapping.h"
#include "core/numa.h"

namespace framelane::cuda {
namespace {

// Locking so much takes the driver some 0.2 ms, in which it lets no other copy begin.
constexpr size_t kPieceBytes = size_t{4} << 20;

// A piece's turn, and the same time for the others' copies. Thread-safety: one thread's.
class PieceTurn {
 public:
  explicit PieceTurn(std::mutex& pieces) : turn_(pieces) {}
  ~PieceTurn() {
    const int64_t taken_ns = std::min<int64_t>(monotonic_now_ns() - since_ns_, 5'000'000);
    const timespec pause{0, long(taken_ns)};
    nanosleep(&pause, nullptr);
  }
  PieceTurn(const PieceTurn&) = delete;
  PieceTurn& operator=(const PieceTurn&) = delete;

 private:
  const std::lock_guard<std::mutex> turn_;
  const MonotonicNs since_ns_ = monotonic_now_ns();
};

}  // namespace

HostMemory::~HostMemory() {
  if (arena_ != nullptr) context_.driver().cuMemHostUnregister(arena_->data());
}

bool HostMemory::verify(void* data, size_t bytes) const noexcept {
  const Driver& driver = context_.driver();
  const auto address = reinterpret_cast<CUdeviceptr>(data);
  for (const CUdeviceptr at : {address, address + bytes - 1}) {
    unsigned type = 0;
    if (driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) != CUDA_SUCCESS) return false;
    if (type != CU_MEMORYTYPE_HOST) return false;
  }
  return true;
}

Result<HostRange> HostMemory::register_pieces(std::byte* data, size_t bytes, size_t piece_bytes) {
  const Driver& driver = context_.driver();
  for (size_t done = 0; done < bytes; done += piece_bytes) {
    const size_t size = std::min(piece_bytes, bytes - done);
    CUresult result = CUDA_SUCCESS;
    {
      const PieceTurn turn(pieces_);
      result = driver.cuMemHostRegister(data + done, size, CU_MEMHOSTREGISTER_PORTABLE);
      if (result == CUDA_SUCCESS && verify(data + done, size)) continue;
    }
    unregister_pieces(data, result == CUDA_SUCCESS ? done + size : done, piece_bytes);
    if (is_fatal(result)) return driver.error("cuMemHostRegister", result);
    return HostRange{};
  }
  return HostRange{data, data + bytes, piece_bytes};
}

void HostMemory::unregister_pieces(const std::byte* data, size_t bytes, size_t piece_bytes) noexcept {
  for (size_t done = 0; done < bytes; done += piece_bytes) {
    const PieceTurn turn(pieces_);
    context_.driver().cuMemHostUnregister(const_cast<std::byte*>(data) + done);
  }
}

Status HostMemory::keep(const HostRange& range) noexcept {
  const std::unique_lock lock(mutex_);
  if (range.begin == nullptr) {
    ++refused_;
    return {};
  }
  ranges_[range.begin] = range;
  bytes_ += size_t(range.end - range.begin);
  return {};
}

Status HostMemory::reserve(size_t bytes) {
  if (bytes == 0) return {};
  if (Status current = context_.make_current(); !current) return current;
  Result<std::unique_ptr<PinnedArena>> made = PinnedArena::create(bytes, context_.gpu().info.numa_node);
  if (!made) return made.error();
  std::unique_ptr<PinnedArena> arena = made.take();
  Result<HostRange> range = register_pieces(arena->data(), arena->bytes(), arena->bytes());
  if (!range) return range.error();
  if (range.value().begin == nullptr)
    return Error{ErrorCode::out_of_memory,
                 "the driver does not page-lock the reserve of " + describe_bytes(arena->bytes())};
  {
    const std::unique_lock lock(mutex_);
    arena_ = std::move(arena);
  }
  return keep(range.value());
}

std::byte* HostMemory::lend(size_t bytes) noexcept {
  const std::unique_lock lock(mutex_);
  return arena_ == nullptr ? nullptr : arena_->lend(bytes);
}

Status HostMemory::adopt(void* data, size_t bytes, size_t slot_bytes) {
  if (bytes == 0 || slot_bytes == 0) return {};
  if (Status current = context_.make_current(); !current) return current;
  const size_t piece_bytes = std::max<size_t>(kPieceBytes / slot_bytes, 1) * slot_bytes;
  const Result<HostRange> range = register_pieces(static_cast<std::byte*>(data), bytes, piece_bytes);
  return range ? keep(range.value()) : Status(range.error());
}

void HostMemory::forget(void* data) noexcept {
  HostRange range;
  {
    const std::unique_lock lock(mutex_);
    if (arena_ != nullptr && arena_->take_back(data)) return;
    const auto found = ranges_.find(static_cast<const std::byte*>(data));
    if (found == ranges_.end()) return;
    range = found->second;
    bytes_ -= size_t(range.end - range.begin);
    ranges_.erase(found);
  }
  if (context_.make_current()) unregister_pieces(range.begin, size_t(range.end - range.begin), range.piece_bytes);
}

HostRange HostMemory::find(const void* data, size_t bytes) const noexcept {
  const std::shared_lock lock(mutex_);
  auto after = ranges_.upper_bound(static_cast<const std::byte*>(data));
  if (after == ranges_.begin()) return {};
  const HostRange& range = std::prev(after)->second;
  return range.holds(data, bytes) ? range : HostRange{};
}

Result<PinnedBlock> HostMemory::allocate(size_t bytes) {
  PinnedBlock block;
  block.bytes_ = round_up_to_page(bytes);
  block.data_ = lend(block.bytes_);
  if (block.data_ != nullptr) {
    block.memory_ = this;
    return block;
  }
  const PreferredNode node(context_.gpu().info.numa_node);
  void* const own = mmap(nullptr, block.bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own == MAP_FAILED) return Error{ErrorCode::out_of_memory, "no host memory for " + describe_bytes(bytes)};
  madvise(own, block.bytes_, MADV_DONTFORK);
  block.data_ = static_cast<std::byte*>(own);
  populate(block.data_, block.bytes_);
  block.memory_ = this;
  block.mapped_ = true;
  if (Status adopted = adopt(own, block.bytes_, block.bytes_); !adopted) return adopted.error();
  if (!find(own, block.bytes_).holds(own, block.bytes_))
    return Error{ErrorCode::out_of_memory, "the driver does not page-lock " + describe_bytes(bytes) + " more"};
  return block;
}

uint64_t HostMemory::bytes() const noexcept {
  const std::shared_lock lock(mutex_);
  return bytes_;
}

uint64_t HostMemory::lent_bytes() const noexcept {
  const std::shared_lock lock(mutex_);
  return arena_ == nullptr ? 0 : arena_->lent_bytes();
}

uint64_t HostMemory::refused() const noexcept {
  const std::shared_lock lock(mutex_);
  return refused_;
}

PinnedBlock::~PinnedBlock() {
  if (memory_ == nullptr) return;
  memory_->forget(data_);
  if (mapped_) unmap(data_, bytes_);
}

PinnedBlock::PinnedBlock(PinnedBlock&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      mapped_(std::exchange(other.mapped_, false)) {}

PinnedBlock& PinnedBlock::operator=(PinnedBlock&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

}  // namespace framelane::cuda
