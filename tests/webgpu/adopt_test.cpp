// Device::adopt: what it refuses, and that it gives back what it took.
#include <gtest/gtest.h>

#include "tests/support/webgpu_test.hpp"
