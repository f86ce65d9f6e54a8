// Memory for the state that bindings keep between uses (Plan::state_bytes): slots of pages that the
// device owns, so that a binding costs no allocation of its own.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "src/vulkan/memory.hpp"

namespace lanewise::vulkan::detail {

struct StatePage {
    MappedBuffer memory;
    VkDeviceSize slot_bytes = 0;
    std::vector<std::uint32_t> free_slots;
};

class StatePages;

// A slot, given back when it goes. The pages must outlive it.
class StateSlot {
public:
    StateSlot() = default;
    StateSlot(StatePages& pages, StatePage& page, std::uint32_t index)
        : pages_(&pages), page_(&page), index_(index) {}
    StateSlot(StateSlot&& other) noexcept
        : pages_(other.pages_), page_(std::exchange(other.page_, nullptr)), index_(other.index_) {}
    StateSlot& operator=(StateSlot&& other) noexcept {
        std::swap(pages_, other.pages_);
        std::swap(page_, other.page_);
        std::swap(index_, other.index_);
        return *this;
    }
    ~StateSlot();

    explicit operator bool() const { return page_ != nullptr; }
    VkBuffer buffer() const { return page_->memory.buffer.get(); }
    VkDeviceSize offset() const { return index_ * page_->slot_bytes; }
    VkDeviceAddress address() const { return page_->memory.address + offset(); }

private:
    StatePages* pages_ = nullptr;
    StatePage* page_ = nullptr;
    std::uint32_t index_ = 0;
};

class StatePages {
public:
    // alignment: of the start of each slot. with_addresses: slots are also reached by address.
    StatePages(const DeviceContext& context, const VkPhysicalDeviceMemoryProperties& memory,
               VkDeviceSize alignment, bool with_addresses)
        : context_(context),
          memory_(memory),
          alignment_(alignment),
          with_addresses_(with_addresses) {}

    // A slot of at least that many bytes, all zero.
    Result<StateSlot> take(std::uint32_t bytes);

private:
    friend class StateSlot;
    void give_back(StatePage& page, std::uint32_t index);

    const DeviceContext& context_;
    const VkPhysicalDeviceMemoryProperties& memory_;
    VkDeviceSize alignment_;
    bool with_addresses_;
    std::mutex mutex_;
    // By pointer: slots point to their page.
    std::vector<std::unique_ptr<StatePage>> pages_;
};

}  // namespace lanewise::vulkan::detail
