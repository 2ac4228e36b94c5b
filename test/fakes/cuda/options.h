// The text form of the fake's options, see fake_control.h. Under a Ledger.
#pragma once

#include <string>

namespace framelane::fake_cuda {

// Ends the process on an option that it does not know: the test is wrong.
void apply_options(const std::string& text);
// Takes the control file away, when there is one, and applies what it says.
void read_control_file();

}  // namespace framelane::fake_cuda
