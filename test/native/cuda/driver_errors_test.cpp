// What a result of the driver means: the device is gone, memory is refused for now, or the input is to blame.
#include "cuda/link.h"
#include "fake_fixture.h"

namespace framelane::cuda {
namespace {

class DriverErrors : public FakeTest {
 protected:
  [[nodiscard]] ErrorCode code_of_link(const std::string& ptx) {
    const Result<std::string> made = link_ptx(driver, ptx);
    return made ? ErrorCode::ok : made.error().code;
  }
};

TEST_F(DriverErrors, AreTheDevicesLossWhereNoContextSurvives) {
  for (const CUresult result : {CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE, CUDA_ERROR_CONTAINED,
                                CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_UNKNOWN}) {
    EXPECT_EQ(driver.error("cuEventQuery", result).code, ErrorCode::device_lost) << int(result);
  }
  EXPECT_EQ(driver.error("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY).code, ErrorCode::out_of_memory);
  EXPECT_EQ(driver.error("cuEventQuery", CUDA_ERROR_INVALID_HANDLE).code, ErrorCode::device_failed);
}

TEST_F(DriverErrors, OfTheLinkerLastOnlyWhereThePtxIsToBlame) {
  EXPECT_EQ(code_of_link(kTestPtx), ErrorCode::ok);
  EXPECT_EQ(code_of_link("no PTX"), ErrorCode::compile_failed);
  for (const char* const call : {"cuLinkCreate", "cuLinkAddData", "cuLinkComplete"}) {
    fake.fail(call, 1, CUDA_ERROR_INVALID_VALUE, 1);
    EXPECT_EQ(code_of_link(kTestPtx), ErrorCode::device_failed) << call;
    fake.fail(call, 1, CUDA_ERROR_OUT_OF_MEMORY, 1);
    EXPECT_EQ(code_of_link(kTestPtx), ErrorCode::out_of_memory) << call;
    fake.fail(call, 1, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 1);
    EXPECT_EQ(code_of_link(kTestPtx), ErrorCode::compile_failed) << call;
  }
}

}  // namespace
}  // namespace framelane::cuda
