// The fake CUDA driver inside a test: opens libcuda_fake.so as the product opens libcuda, and its controls.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "cuda/driver.h"
#include "fakes/cuda/fake_control.h"

namespace framelane::fake_cuda {

// Thread-safety: immutable once open; one per process, to its end. The functions may be called from any thread.
class FakeCuda {
 public:
  // The library lies beside the test's own binary.
  [[nodiscard]] static std::string path() {
    char self[4096] = {};
    const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    const std::string file(self, length > 0 ? static_cast<size_t>(length) : 0);
    return file.substr(0, file.rfind('/') + 1) + "libcuda_fake.so";
  }
  // Ends the process when the library is not there, for no test could go on.
  static const FakeCuda& get() {
    static const FakeCuda& fake = *new FakeCuda;
    return fake;
  }

#define FRAMELANE_FAKE(result, name, parameters) result(*name) parameters = nullptr;
  FRAMELANE_FAKE_FUNCTIONS
#undef FRAMELANE_FAKE

  const cuda::Driver* driver = nullptr;

  [[nodiscard]] std::string report_text() const {
    std::string text(report(nullptr, 0), '\0');
    report(text.data(), text.size() + 1);
    return text;
  }

 private:
  FakeCuda() {
    void* const library = dlopen(path().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) fail_loudly(dlerror());
#define FRAMELANE_FAKE(result, name, parameters)                                                      \
  name = reinterpret_cast<decltype(framelane_fake_##name)*>(dlsym(library, "framelane_fake_" #name)); \
  if (name == nullptr) fail_loudly("no framelane_fake_" #name);
    FRAMELANE_FAKE_FUNCTIONS
#undef FRAMELANE_FAKE
    reset("");
    Result<const cuda::Driver*> opened = cuda::Driver::open(path());
    if (!opened) fail_loudly(opened.error().message.c_str());
    driver = opened.value();
  }
  [[noreturn]] static void fail_loudly(const char* why) {
    std::fprintf(stderr, "the fake CUDA driver: %s\n", why);
    std::abort();
  }
};

}  // namespace framelane::fake_cuda
