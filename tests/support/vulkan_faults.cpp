#include "tests/support/vulkan_faults.hpp"

#include <cstring>
#include <mutex>
#include <type_traits>

#include "src/vulkan/gpu_loader.hpp"

namespace lanewise::test {
namespace {

struct Failure {
    VkResult result = VK_SUCCESS;
    int first = 1;
    int left = 0;
};

// Constant for the whole process: the real functions by name. Calls may come from several threads.
std::mutex mutex;
std::map<std::string, PFN_vkVoidFunction> real_functions;
std::map<std::string, int> call_counts;
std::map<std::string, Failure> failures;
std::vector<PipelineSeen> seen_pipelines;
std::map<VkShaderModule, std::uint32_t> module_versions;
std::vector<std::string> seen_labels;
int labels_open = 0;
std::vector<VkMemoryBarrier> seen_barriers;
std::vector<VkDescriptorPool> seen_pools;
std::set<const void*> seen_allocators;
int objects = 0;
bool swallowing = false;
thread_local int driver_depth = 0;

struct InsideDriver {
    InsideDriver() { ++driver_depth; }
    ~InsideDriver() { --driver_depth; }
};

template <class T>
const T* in_chain(const void* chain, VkStructureType type) {
    for (auto* s = static_cast<const VkBaseInStructure*>(chain); s != nullptr; s = s->pNext) {
        if (s->sType == type) return reinterpret_cast<const T*>(s);
    }
    return nullptr;
}

// What is kept of particular calls, before the driver sees them. Called with the mutex held.
template <class... A>
void observe(const std::string&, A...) {}

void observe(const std::string& name, VkDevice, VkPipelineCache cache, std::uint32_t count,
             const VkComputePipelineCreateInfo* infos, const VkAllocationCallbacks*, VkPipeline*) {
    if (name != "vkCreateComputePipelines") return;
    for (std::uint32_t i = 0; i < count; ++i) {
        const VkPipelineShaderStageCreateInfo& stage = infos[i].stage;
        const auto* size = in_chain<VkPipelineShaderStageRequiredSubgroupSizeCreateInfo>(
            stage.pNext,
            VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
        seen_pipelines.push_back({cache, stage.flags,
                                  size != nullptr ? size->requiredSubgroupSize : 0,
                                  module_versions[stage.module]});
    }
}

void observe(const std::string& name, VkCommandBuffer, const VkDebugUtilsLabelEXT* label) {
    if (name != "vkCmdBeginDebugUtilsLabelEXT") return;
    seen_labels.push_back(label->pLabelName);
    ++labels_open;
}

void observe(const std::string& name, VkCommandBuffer) {
    if (name == "vkCmdEndDebugUtilsLabelEXT") --labels_open;
}

void observe(const std::string& name, VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags,
             VkDependencyFlags, std::uint32_t count, const VkMemoryBarrier* barriers, std::uint32_t,
             const VkBufferMemoryBarrier*, std::uint32_t, const VkImageMemoryBarrier*) {
    if (name == "vkCmdPipelineBarrier")
        seen_barriers.insert(seen_barriers.end(), barriers, barriers + count);
}

void observe(const std::string& name, VkDevice, const VkDescriptorSetAllocateInfo* info,
             VkDescriptorSet*) {
    if (name == "vkAllocateDescriptorSets") seen_pools.push_back(info->descriptorPool);
}

void observe_allocator(const VkAllocationCallbacks* allocator) {
    seen_allocators.insert(allocator != nullptr ? allocator->pUserData : nullptr);
}
template <class T>
void observe_allocator(const T&) {}

// Destroying nothing is no destruction.
template <class Handle>
bool is_destruction(const std::string& name, VkDevice, Handle object,
                    const VkAllocationCallbacks*) {
    return (name.starts_with("vkDestroy") || name == "vkFreeMemory") && object != Handle{};
}
template <class... A>
bool is_destruction(const std::string&, const A&...) {
    return false;
}

// And after it.
template <class... A>
void observe_result(const std::string&, A...) {}

void observe_result(const std::string& name, VkDevice, const VkShaderModuleCreateInfo* info,
                    const VkAllocationCallbacks*, VkShaderModule* module) {
    if (name == "vkCreateShaderModule" && info->codeSize >= 8)
        module_versions[*module] = info->pCode[1];
}

// A function of a driver by its index in the table below, in its own type.
template <int Index, class F>
struct Wrapper;

const char* name_of(int index);

template <int Index, class R, class... A>
struct Wrapper<Index, R(VKAPI_PTR*)(A...)> {
    static R VKAPI_CALL call(A... arguments) {
        const InsideDriver inside;
        const std::string name = name_of(Index);
        PFN_vkVoidFunction real = nullptr;
        bool swallow = false;
        [[maybe_unused]] VkResult failed = VK_SUCCESS;
        {
            const std::lock_guard lock(mutex);
            const int number = ++call_counts[name];
            observe(name, arguments...);
            (observe_allocator(arguments), ...);
            if (is_destruction(name, arguments...)) --objects;
            real = real_functions[name];
            swallow = swallowing && name.starts_with("vkCmd");
            if constexpr (std::is_same_v<R, VkResult>) {
                const auto failure = failures.find(name);
                if (failure != failures.end() && number >= failure->second.first &&
                    failure->second.left > 0) {
                    --failure->second.left;
                    failed = failure->second.result;
                }
            }
        }
        if constexpr (std::is_void_v<R>) {
            if (!swallow) reinterpret_cast<R(VKAPI_PTR*)(A...)>(real)(arguments...);
        } else {
            if constexpr (std::is_same_v<R, VkResult>) {
                // A wait that fails has waited: on a real loss nothing goes on running, either.
                if (failed != VK_SUCCESS && name != "vkWaitForFences") return failed;
            }
            const R result = reinterpret_cast<R(VKAPI_PTR*)(A...)>(real)(arguments...);
            const std::lock_guard lock(mutex);
            if constexpr (std::is_same_v<R, VkResult>) {
                const bool made = name.starts_with("vkCreate") || name == "vkAllocateMemory";
                if (made && result == VK_SUCCESS) ++objects;
                if (result == VK_SUCCESS) observe_result(name, arguments...);
            }
            if constexpr (std::is_same_v<R, VkResult>) {
                if (failed != VK_SUCCESS) return failed;
            }
            return result;
        }
    }
};

// Every function through which work reaches the device, or that a driver may fail.
#define LANEWISE_INTERCEPTED(X)       \
    X(0, AllocateCommandBuffers)      \
    X(1, AllocateDescriptorSets)      \
    X(2, AllocateMemory)              \
    X(3, BeginCommandBuffer)          \
    X(4, BindBufferMemory)            \
    X(5, CmdBeginDebugUtilsLabelEXT)  \
    X(6, CmdBindDescriptorSets)       \
    X(7, CmdBindPipeline)             \
    X(8, CmdDispatch)                 \
    X(9, CmdDispatchIndirect)         \
    X(10, CmdEndDebugUtilsLabelEXT)   \
    X(11, CmdPipelineBarrier)         \
    X(12, CmdPushConstants)           \
    X(13, CmdPushDescriptorSetKHR)    \
    X(14, CmdWriteTimestamp)          \
    X(15, CreateBuffer)               \
    X(16, CreateCommandPool)          \
    X(17, CreateComputePipelines)     \
    X(18, CreateDescriptorPool)       \
    X(19, CreateDescriptorSetLayout)  \
    X(20, CreateFence)                \
    X(21, CreatePipelineLayout)       \
    X(22, CreateShaderModule)         \
    X(23, EndCommandBuffer)           \
    X(24, MapMemory)                  \
    X(25, QueueSubmit)                \
    X(26, WaitForFences)              \
    X(27, UpdateDescriptorSets)       \
    X(28, DestroyBuffer)              \
    X(29, DestroyCommandPool)         \
    X(30, DestroyDescriptorPool)      \
    X(31, DestroyDescriptorSetLayout) \
    X(32, DestroyFence)               \
    X(33, DestroyPipeline)            \
    X(34, DestroyPipelineLayout)      \
    X(35, DestroyShaderModule)        \
    X(36, FreeMemory)

const char* name_of(int index) {
    switch (index) {
#define LANEWISE_CASE(number, name) \
    case number: return "vk" #name;
        LANEWISE_INTERCEPTED(LANEWISE_CASE)
#undef LANEWISE_CASE
        default: return "";
    }
}

PFN_vkVoidFunction wrapper_of(const char* wanted) {
#define LANEWISE_WRAP(number, name)           \
    if (std::strcmp(wanted, "vk" #name) == 0) \
        return reinterpret_cast<PFN_vkVoidFunction>(&Wrapper<number, PFN_vk##name>::call);
    LANEWISE_INTERCEPTED(LANEWISE_WRAP)
#undef LANEWISE_WRAP
    return nullptr;
}

PFN_vkVoidFunction wrapped(const char* name, PFN_vkVoidFunction real) {
    PFN_vkVoidFunction wrapper = wrapper_of(name);
    if (wrapper == nullptr || real == nullptr) return real;
    const std::lock_guard lock(mutex);
    real_functions[name] = real;
    return wrapper;
}

PFN_vkGetInstanceProcAddr loader() {
    static const PFN_vkGetInstanceProcAddr function = [] {
        const auto opened = vulkan::detail::open_loader();
        return opened ? *opened : nullptr;
    }();
    return function;
}

PFN_vkGetDeviceProcAddr real_get_device_proc_addr = nullptr;

PFN_vkVoidFunction VKAPI_CALL device_proc_addr(VkDevice device, const char* name) {
    return wrapped(name, real_get_device_proc_addr(device, name));
}

PFN_vkVoidFunction VKAPI_CALL instance_proc_addr(VkInstance instance, const char* name) {
    PFN_vkVoidFunction real = loader() != nullptr ? loader()(instance, name) : nullptr;
    if (std::strcmp(name, "vkGetDeviceProcAddr") == 0 && real != nullptr) {
        real_get_device_proc_addr = reinterpret_cast<PFN_vkGetDeviceProcAddr>(real);
        return reinterpret_cast<PFN_vkVoidFunction>(&device_proc_addr);
    }
    return wrapped(name, real);
}

}  // namespace

PFN_vkGetInstanceProcAddr VulkanFaults::get_instance_proc_addr() { return &instance_proc_addr; }

void VulkanFaults::reset() {
    const std::lock_guard lock(mutex);
    call_counts.clear();
    failures.clear();
    seen_pipelines.clear();
    seen_labels.clear();
    labels_open = 0;
    seen_barriers.clear();
    seen_pools.clear();
    seen_allocators.clear();
    objects = 0;
    swallowing = false;
}

void VulkanFaults::fail(const std::string& function, VkResult result, int call, int times) {
    const std::lock_guard lock(mutex);
    failures[function] = {result, call_counts[function] + call, times};
}

int VulkanFaults::calls(const std::string& function) {
    const std::lock_guard lock(mutex);
    return call_counts[function];
}

int VulkanFaults::calls_in_all() {
    const std::lock_guard lock(mutex);
    int sum = 0;
    for (const auto& [name, count] : call_counts) sum += count;
    return sum;
}

std::vector<PipelineSeen> VulkanFaults::pipelines() {
    const std::lock_guard lock(mutex);
    return seen_pipelines;
}

std::vector<std::string> VulkanFaults::labels() {
    const std::lock_guard lock(mutex);
    return seen_labels;
}

int VulkanFaults::open_labels() {
    const std::lock_guard lock(mutex);
    return labels_open;
}

std::vector<VkMemoryBarrier> VulkanFaults::memory_barriers() {
    const std::lock_guard lock(mutex);
    return seen_barriers;
}

std::vector<VkDescriptorPool> VulkanFaults::allocated_from() {
    const std::lock_guard lock(mutex);
    return seen_pools;
}

std::set<const void*> VulkanFaults::allocator_owners() {
    const std::lock_guard lock(mutex);
    return seen_allocators;
}

int VulkanFaults::live_objects() {
    const std::lock_guard lock(mutex);
    return objects;
}

bool VulkanFaults::inside_driver() { return driver_depth > 0; }

void VulkanFaults::swallow_commands(bool swallow) {
    const std::lock_guard lock(mutex);
    swallowing = swallow;
}

}  // namespace lanewise::test
