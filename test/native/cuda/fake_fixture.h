// A test on the fake CUDA driver: one context, kernels as PTX, and no detection left over at the end.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fakes/cuda/fake_cuda.h"

namespace framelane::cuda {

inline const std::string kTestPtx = R"(.version 7.1
.target sm_86
.address_size 64
// out[i] = in[i] + n
.visible .entry add(
    .param .u64 add_param_0, .param .u64 .ptr .global .align 16 add_param_1,
    .param .u32 add_param_2
)
{
  ld.param.u64 %rd1, [add_param_0];
  ld.param.u64 %rd2, [add_param_1];
  ld.param.u32 %r1, [add_param_2];
  cvta.to.global.u64 %rd3, %rd1;
  cvta.to.global.u64 %rd4, %rd2;
  add.s64 %rd5, %rd4, 4;
  @%p1 bra DONE;
  ld.global.f32 %f1, [%rd5+16];
  add.s64 %rd6, %rd3, %rd7;
  st.global.f32 [%rd6], %f1;
DONE:
  ret;
}
.entry small(.param .u8 small_param_0, .param .align 8 .b8 small_param_1[24]) { ret; }
)";

class FakeTest : public ::testing::Test {
 protected:
  FakeTest() { start(""); }
  ~FakeTest() override { fake.reset(""); }

  // Everything anew, with the context of device 0.
  void start(const char* options) {
    fake.reset(options);
    EXPECT_EQ(driver.cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
  }
  [[nodiscard]] CUstream make_stream() {
    CUstream stream = nullptr;
    EXPECT_EQ(driver.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
    return stream;
  }
  [[nodiscard]] CUevent make_event() {
    CUevent event = nullptr;
    EXPECT_EQ(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    return event;
  }
  [[nodiscard]] CUdeviceptr make_memory(size_t bytes) {
    CUdeviceptr memory = 0;
    EXPECT_EQ(driver.cuMemAlloc(&memory, bytes), CUDA_SUCCESS);
    return memory;
  }
  [[nodiscard]] unsigned char* make_pinned(size_t bytes) {
    void* memory = nullptr;
    EXPECT_EQ(driver.cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS);
    return static_cast<unsigned char*>(memory);
  }
  [[nodiscard]] CUfunction load_kernel(const char* name) {
    CUfunction function = nullptr;
    EXPECT_EQ(driver.cuModuleLoadData(&module, kTestPtx.c_str()), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuModuleGetFunction(&function, module, name), CUDA_SUCCESS);
    return function;
  }
  // out = in + n, as recorded: it runs only where a test has put something in its place.
  CUresult launch_add(CUfunction function, CUstream stream, CUdeviceptr out, CUdeviceptr in, unsigned n) {
    void* parameters[] = {&out, &in, &n};
    return driver.cuLaunchKernel(function, 4, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
  }
  [[nodiscard]] uint64_t detections(const char* detector) const { return fake.detections(detector); }

  const fake_cuda::FakeCuda& fake = fake_cuda::FakeCuda::get();
  const Driver& driver = *fake.driver;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
};

}  // namespace framelane::cuda
