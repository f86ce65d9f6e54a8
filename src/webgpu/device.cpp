// Device: adopting a device.

#include "lanewise/webgpu.hpp"
