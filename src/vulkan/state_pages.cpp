#include "src/vulkan/state_pages.hpp"

#include <algorithm>
#include <cstring>

namespace lanewise::vulkan::detail {

namespace {

// 256 slots of the usual size: enough that few programs need a second page, small enough to go
// unnoticed in the window through which the host reaches device memory.
constexpr VkDeviceSize kPageBytes = 64 * 1024;

// Slots are no smaller than this: what two bindings in flight keep never shares a cache line.
constexpr VkDeviceSize kMinSlotBytes = 256;

VkDeviceSize round_up(VkDeviceSize value, VkDeviceSize multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

StateSlot::~StateSlot() {
    if (page_ != nullptr) pages_->give_back(*page_, index_);
}

Result<StateSlot> StatePages::take(std::uint32_t bytes) {
    const VkDeviceSize slot_bytes = round_up(std::max<VkDeviceSize>(bytes, kMinSlotBytes),
                                             std::max<VkDeviceSize>(alignment_, 1));

    const std::lock_guard lock(mutex_);
    auto found = std::find_if(pages_.begin(), pages_.end(), [&](const auto& page) {
        return page->slot_bytes == slot_bytes && !page->free_slots.empty();
    });
    if (found == pages_.end()) {
        const VkDeviceSize slots = std::max<VkDeviceSize>(1, kPageBytes / slot_bytes);
        auto page = std::make_unique<StatePage>();
        page->slot_bytes = slot_bytes;
        for (VkDeviceSize slot = slots; slot > 0; --slot)
            page->free_slots.push_back(static_cast<std::uint32_t>(slot - 1));
        pages_.reserve(pages_.size() + 1);

        VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
        if (with_addresses_) usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
        auto memory = make_mapped_buffer(context_, memory_, slots * slot_bytes, usage,
                                         "allocating a page for the state of bindings");
        if (!memory) return tl::unexpected(memory.error());
        page->memory = std::move(*memory);
        pages_.push_back(std::move(page));
        found = pages_.end() - 1;
    }

    StatePage& page = **found;
    const std::uint32_t index = page.free_slots.back();
    page.free_slots.pop_back();
    std::memset(page.memory.bytes + index * slot_bytes, 0, slot_bytes);
    return StateSlot(*this, page, index);
}

void StatePages::give_back(StatePage& page, std::uint32_t index) {
    const std::lock_guard lock(mutex_);
    // Never allocates: the list held this slot before.
    page.free_slots.push_back(index);
}

}  // namespace lanewise::vulkan::detail
