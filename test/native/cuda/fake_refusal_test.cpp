// What the fake refuses as the real driver does: handles, contexts, pinned memory, images.
#include <fstream>
#include <thread>

#include "fake_fixture.h"

namespace framelane::cuda {
namespace {

class FakeRefusal : public FakeTest {};

// A second copy of the library is a driver that nobody has used yet, as a new process finds it.
TEST_F(FakeRefusal, WantsToBeInitialisedAndReadsItsEnvironmentThen) {
  static int copies = 0;  // a name that was loaded once stays loaded
  const std::string copy =
      ::testing::TempDir() + "libcuda_fake_" + std::to_string(getpid()) + "_" + std::to_string(copies++) + ".so";
  std::ofstream(copy, std::ios::binary) << std::ifstream(fake_cuda::FakeCuda::path(), std::ios::binary).rdbuf();
  void* const library = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_EQ(unlink(copy.c_str()), 0);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto init = reinterpret_cast<CUresult (*)(unsigned)>(dlsym(library, "cuInit"));
  const auto get_count = reinterpret_cast<CUresult (*)(int*)>(dlsym(library, "cuDeviceGetCount"));
  int count = 0;
  EXPECT_EQ(get_count(&count), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(init(1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(setenv("FRAMELANE_FAKE_CUDA", "devices=3,memory=64MiB", 1), 0);
  EXPECT_EQ(init(0), CUDA_SUCCESS);
  EXPECT_EQ(unsetenv("FRAMELANE_FAKE_CUDA"), 0);
  EXPECT_EQ(get_count(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, 3);
}

TEST_F(FakeRefusal, WantsACurrentContext) {
  const CUstream stream = make_stream();
  const CUevent event = make_event();
  std::thread([&] {
    CUdeviceptr memory = 0;
    CUstream more = nullptr;
    EXPECT_EQ(driver.cuMemAlloc(&memory, 100), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(driver.cuStreamCreateWithPriority(&more, 1, 0), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(driver.cuEventRecord(event, stream), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(driver.cuModuleLoadData(&module, kTestPtx.c_str()), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(driver.cuCtxPushCurrent(context), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
    CUcontext popped = nullptr;
    EXPECT_EQ(driver.cuCtxPopCurrent(&popped), CUDA_SUCCESS);
    EXPECT_EQ(popped, context);
    EXPECT_EQ(driver.cuCtxPopCurrent(&popped), CUDA_ERROR_INVALID_CONTEXT);
  }).join();
  EXPECT_EQ(driver.cuStreamDestroy(stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  EXPECT_EQ(driver.cuMemAlloc(&memory, 100), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_F(FakeRefusal, KnowsBadHandles) {
  const CUstream stream = make_stream();
  const CUevent event = make_event();
  const CUfunction add = load_kernel("add");
  const CUdeviceptr memory = make_memory(100);
  EXPECT_EQ(driver.cuStreamDestroy(stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuMemsetD8Async(memory, 0, 1, stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch_add(add, nullptr, memory, memory, 1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuGraphDestroy(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuGraphLaunch(nullptr, make_stream()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuLinkDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
}

// Whoever keys something by the raw handle takes the new stream for the old one.
TEST_F(FakeRefusal, UsesTheHandleOfADestroyedStreamAgain) {
  const CUstream first = make_stream();
  unsigned long long first_id = 0, second_id = 0;
  EXPECT_EQ(driver.cuStreamGetId(first, &first_id), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamDestroy(first), CUDA_SUCCESS);
  const CUstream second = make_stream();
  EXPECT_EQ(driver.cuStreamGetId(second, &second_id), CUDA_SUCCESS);
  EXPECT_EQ(first, second);
  EXPECT_NE(first_id, second_id);
}

TEST_F(FakeRefusal, KeepsTheDevicesApart) {
  start("devices=2");
  const CUstream stream = make_stream();
  CUcontext second = nullptr;
  EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&second, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSetCurrent(second), CUDA_SUCCESS);
  CUdevice device = -1;
  EXPECT_EQ(driver.cuCtxGetDevice(&device), CUDA_SUCCESS);
  EXPECT_EQ(device, 1);
  const CUfunction add = load_kernel("add");
  const CUdeviceptr memory = make_memory(100);
  EXPECT_EQ(launch_add(add, stream, memory, memory, 1), CUDA_ERROR_INVALID_HANDLE) << "a stream of the other device";
  EXPECT_EQ(driver.cuEventRecord(make_event(), stream), CUDA_ERROR_INVALID_HANDLE);
  size_t free_bytes = 0, total_bytes = 0;
  EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemGetInfo(&free_bytes, &total_bytes), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes, total_bytes) << "memory of the other device";
}

TEST_F(FakeRefusal, RegistersHostMemoryOnce) {
  std::vector<unsigned char> memory(8192);
  EXPECT_EQ(driver.cuMemHostRegister(memory.data(), 4096, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemHostRegister(memory.data(), 4096, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(driver.cuMemHostRegister(memory.data() + 4000, 4096, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  unsigned flags = 0;
  EXPECT_EQ(driver.cuMemHostGetFlags(&flags, memory.data() + 4095), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemHostGetFlags(&flags, memory.data() + 4096), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemHostUnregister(memory.data()), CUDA_SUCCESS);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
  EXPECT_EQ(driver.cuMemHostUnregister(memory.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_EQ(driver.cuMemFreeHost(memory.data()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(detections("use_after_free"), 2U) << fake.report_text();
  EXPECT_EQ(driver.cuMemHostRegister(reinterpret_cast<void*>(0x1000), 4096, 0), CUDA_ERROR_INVALID_VALUE)
      << "nothing is mapped there";
}

TEST_F(FakeRefusal, RefusesACopyThatCrossesTwoRegistrations) {
  const CUstream stream = make_stream();
  const CUdeviceptr device = make_memory(8192);
  std::vector<unsigned char> memory(8192);
  EXPECT_EQ(driver.cuMemHostRegister(memory.data(), 4096, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemHostRegister(memory.data() + 4096, 2048, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(device, memory.data(), 4096, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync(device, memory.data() + 100, 4096, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemcpyDtoHAsync(memory.data() + 5000, device, 2000, stream), CUDA_ERROR_INVALID_VALUE)
      << "half of it is not pinned";
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
}

TEST_F(FakeRefusal, HasOnlySoMuchPinnedMemory) {
  start("pinned=64KiB");
  static_cast<void>(make_pinned(60 << 10));
  void* more = nullptr;
  EXPECT_EQ(driver.cuMemHostAlloc(&more, 8 << 10, 0), CUDA_ERROR_OUT_OF_MEMORY);
  std::vector<unsigned char> memory(8 << 10);
  EXPECT_EQ(driver.cuMemHostRegister(memory.data(), memory.size(), 0), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(FakeRefusal, ReadsImages) {
  CUfunction function = nullptr;
  EXPECT_EQ(driver.cuModuleLoadData(&module, "no PTX"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(driver.cuModuleLoadData(&module, ".version 7.1\n.target sm_86\n.entry broken(.param .u64"),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(driver.cuModuleLoadData(&module, ".version 8.6\n.target sm_120\n.entry k() { ret; }"),
            CUDA_ERROR_NO_BINARY_FOR_GPU);
  static_cast<void>(load_kernel("add"));
  EXPECT_EQ(driver.cuModuleGetFunction(&function, module, "absent"), CUDA_ERROR_NOT_FOUND);
  CUlinkState link = nullptr;
  ASSERT_EQ(driver.cuLinkCreate(0, nullptr, nullptr, &link), CUDA_SUCCESS);
  char text[] = "no PTX";
  char log[100] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log))};
  EXPECT_EQ(driver.cuLinkAddData(link, CU_JIT_INPUT_PTX, text, sizeof(text), "p", 2, options, values),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_STRNE(log, "");
  void* cubin = nullptr;
  EXPECT_EQ(driver.cuLinkComplete(link, &cubin, nullptr), CUDA_ERROR_INVALID_VALUE) << "nothing to link";
}

TEST_F(FakeRefusal, ReadsParametersOfEverySize) {
  const CUstream stream = make_stream();
  const CUfunction small = load_kernel("small");
  unsigned char byte = 200;
  uint64_t three[3] = {make_memory(10), 2, 3};
  void* parameters[] = {&byte, three};
  EXPECT_EQ(driver.cuLaunchKernel(small, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuLaunchKernel(small, 0, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuLaunchKernel(small, 1, 1, 1, 2048, 1, 1, 0, stream, parameters, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuLaunchKernel(small, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
  fake_cuda::FakeLaunch launch;
  ASSERT_TRUE(fake.launch(0, &launch));
  EXPECT_EQ(launch.parameter[0].bytes, 1U);
  EXPECT_EQ(launch.parameter[0].value, 200U);
  EXPECT_EQ(launch.parameter[1].bytes, 24U);
  EXPECT_EQ(launch.parameter[1].value, three[0]);
}

TEST_F(FakeRefusal, OrdersTheNullStreamWithBlockingStreamsOnly) {
  CUstream blocking = nullptr;
  ASSERT_EQ(driver.cuStreamCreateWithPriority(&blocking, CU_STREAM_DEFAULT, 0), CUDA_SUCCESS);
  const CUstream free_running = make_stream();
  const CUfunction add = load_kernel("add");
  const CUdeviceptr a = make_memory(100), b = make_memory(100);
  EXPECT_EQ(launch_add(add, blocking, a, b, 1), CUDA_SUCCESS);
  EXPECT_EQ(launch_add(add, nullptr, a, b, 1), CUDA_SUCCESS);
  EXPECT_EQ(launch_add(add, blocking, a, b, 1), CUDA_SUCCESS);
  EXPECT_EQ(detections(nullptr), 0U) << fake.report_text();
  EXPECT_EQ(launch_add(add, free_running, a, b, 1), CUDA_SUCCESS);
  EXPECT_EQ(detections("stream_race"), 1U) << fake.report_text();
}

TEST_F(FakeRefusal, MeasuresTimeBetweenEvents) {
  const CUstream stream = make_stream();
  CUevent start_event = nullptr, end_event = nullptr;
  float ms = 0;
  EXPECT_EQ(driver.cuEventCreate(&start_event, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventCreate(&end_event, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventElapsedTime(&ms, start_event, end_event), CUDA_ERROR_INVALID_HANDLE) << "not recorded";
  fake.apply("kernel=5000000");
  const CUdeviceptr memory = make_memory(100);
  const CUfunction add = load_kernel("add");
  EXPECT_EQ(driver.cuEventRecord(start_event, stream), CUDA_SUCCESS);
  EXPECT_EQ(launch_add(add, stream, memory, memory, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventRecord(end_event, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventSynchronize(end_event), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventElapsedTime(&ms, start_event, end_event), CUDA_SUCCESS);
  EXPECT_GE(ms, 4.9F);
  EXPECT_EQ(driver.cuEventElapsedTime(&ms, start_event, make_event()), CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
}  // namespace framelane::cuda
