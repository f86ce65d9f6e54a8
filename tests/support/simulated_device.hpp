// A machine of the simulator as a TestDevice.
#pragma once

#include <memory>
#include <string>

#include "lanewise/simulator.hpp"
#include "tests/support/test_device.hpp"

namespace lanewise::test {

// The machine that a name of ctest means: "simulator" and the subgroup size, then what is hostile
// about it:
//   (nothing)   full subgroups, lanes in the order of local indices, one workgroup after the other
//   _permuted   any invocation in any lane, subgroups and schedules reversed
//   _hostile    lanes, subgroups and schedules random, few instructions at a time
//   _partial    subgroups of random populations, holes anywhere, where full ones are not required
//   _striped    neighbours in different subgroups, all run in turns of a few instructions
simulator::Machine simulated_machine(const std::string& name);

// Takes kernels from the folder LANEWISE_TEST_KERNELS, where the environment names one, instead of
// the built-in ones: tools/mutate_kernels.py.
std::unique_ptr<TestDevice> make_simulated_device(const simulator::Machine& machine);

}  // namespace lanewise::test
