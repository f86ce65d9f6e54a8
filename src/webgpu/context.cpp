#include "src/webgpu/context.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <thread>

namespace lanewise::webgpu::detail {

namespace {

// What one error scope caught. Both the caller, who may give up, and the callback hold it.
struct Caught {
    std::atomic<bool> done = false;
    WGPUPopErrorScopeStatus status = WGPUPopErrorScopeStatus_Error;
    WGPUErrorType type = WGPUErrorType_NoError;
    std::string message;
};

void on_popped(WGPUPopErrorScopeStatus status, WGPUErrorType type, WGPUStringView message,
               void* caught, void*) {
    auto& scope = *static_cast<Caught*>(caught);
    scope.status = status;
    scope.type = type;
    scope.message = one_line(message);
    scope.done = true;
}

}  // namespace

std::string to_string(WGPUStringView text) {
    if (text.data == nullptr) return {};
    return {text.data, text.length == WGPU_STRLEN ? std::strlen(text.data) : text.length};
}

std::string one_line(WGPUStringView text) {
    std::string line;
    for (const char c : to_string(text)) {
        const bool blank = c == ' ' || c == '\n' || c == '\r' || c == '\t';
        if (!blank)
            line += c;
        else if (!line.empty() && line.back() != ' ')
            line += ' ';
    }
    while (line.ends_with(' ')) line.pop_back();
    return line;
}

WGPUStringView view_of(std::string_view text) { return {text.data(), text.size()}; }

void wait_until(const Functions& functions, WGPUInstance instance, const std::atomic<bool>& done) {
    using namespace std::chrono_literals;
    const auto start = std::chrono::steady_clock::now();
    functions.InstanceProcessEvents(instance);
    while (!done) {
        // What takes long may take a little longer; what does not should not wait for the clock.
        if (std::chrono::steady_clock::now() - start > 2ms)
            std::this_thread::sleep_for(50us);
        else
            std::this_thread::yield();
        functions.InstanceProcessEvents(instance);
    }
}

DeviceContext::DeviceContext(const Adoption& adoption)
    : wgpu(adoption.functions),
      instance_(adoption.instance),
      adapter_(adoption.adapter),
      device_(adoption.device),
      queue_(wgpu, wgpu.DeviceGetQueue(device_)) {
    wgpu.InstanceAddRef(instance_);
    wgpu.AdapterAddRef(adapter_);
    wgpu.DeviceAddRef(device_);
}

DeviceContext::~DeviceContext() {
    queue_ = {};
    wgpu.DeviceRelease(device_);
    wgpu.AdapterRelease(adapter_);
    wgpu.InstanceRelease(instance_);
}

Result<void> DeviceContext::checked(std::string_view doing, ErrorCode refused,
                                    const std::function<void()>& calls) const {
    constexpr std::array kFilters = {WGPUErrorFilter_Internal, WGPUErrorFilter_OutOfMemory,
                                     WGPUErrorFilter_Validation};
    std::array<Caught, kFilters.size()> all_scopes;
    std::span<const WGPUErrorFilter> filters = kFilters;
    std::span<Caught> scopes = all_scopes;
    if (wgpu.QueueGetTimestampPeriod !=
        nullptr) {  // wgpu-native, which ends the process on the first
        filters = filters.subspan(1);
        scopes = scopes.subspan(1);
    }
    const std::lock_guard lock(scopes_);
    for (const WGPUErrorFilter filter : filters) wgpu.DevicePushErrorScope(device_, filter);
    calls();
    for (Caught& scope : scopes) {  // the innermost first: validation
        WGPUPopErrorScopeCallbackInfo info = WGPU_POP_ERROR_SCOPE_CALLBACK_INFO_INIT;
        info.mode = WGPUCallbackMode_AllowProcessEvents;
        info.callback = on_popped;
        info.userdata1 = &scope;
        wgpu.DevicePopErrorScope(device_, info);
    }
    for (const Caught& scope : scopes) wait_until(wgpu, instance_, scope.done);
    for (const Caught& scope : scopes) {
        if (scope.status != WGPUPopErrorScopeStatus_Success) {
            return tl::unexpected(
                Error{ErrorCode::device_lost,
                      fmt::format("{}: the device does not answer: {}", doing, scope.message),
                      {}});
        }
        if (scope.type == WGPUErrorType_NoError) continue;
        // What wgpu-native makes a validation error of.
        if (scope.message.contains("device is lost")) {
            return tl::unexpected(
                Error{ErrorCode::device_lost, fmt::format("{}: {}", doing, scope.message), {}});
        }
        const ErrorCode code =
            scope.type == WGPUErrorType_OutOfMemory ? ErrorCode::out_of_memory : refused;
        return tl::unexpected(Error{code, fmt::format("{}: {}", doing, scope.message), {}});
    }
    return {};
}

}  // namespace lanewise::webgpu::detail
