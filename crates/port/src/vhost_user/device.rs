//! What the front end has set so far, message by message, and the rings that follow from it.
//!
//! ```text
//!   features, memory, then for each ring: call, size, base, addresses, kick (starts it), enable
//!     --> all there: a receiver (odd rings) or a sender (even ones) is put into its queue pair's slot
//!   base asked for, or anything of it changed: taken out of there, and its place on the ring is told, or kept for the next
//! ```
//! Invariant: whenever a ring's state changes, what runs on the old one is taken away first; when a message is answered, nothing
//! touches memory any more that the front end may have unmapped.

use std::fs::File;
use std::sync::Arc;

use tidegate_sys::event::EventFd;
use vhost::VhostUserMemoryRegionBase;
use vhost::vhost_user::message::{
    VhostTransferStateDirection, VhostTransferStatePhase, VhostUserConfigFlags, VhostUserInflight,
    VhostUserLog, VhostUserMemoryRegion, VhostUserProtocolFeatures, VhostUserShMemConfig, VhostUserSharedMsg,
    VhostUserSingleMemoryRegion, VhostUserVirtioFeatures, VhostUserVringAddrFlags, VhostUserVringState,
};
use vhost::vhost_user::{Error, GpuBackend, Result, VhostUserBackendReqHandlerMut};

use super::control::Shared;
use super::header;
use super::memory::{GuestMemory, RegionPlace};
use super::receiver::{Agreed, Receiver};
use super::ring::{RING_SIZE_MAX, Ring, RingPlace};
use super::sender::Sender;

/// Bits of virtio (virtio 1.3 sections 5.1.3 and 6) that are offered.
pub(super) mod feature {
    /// Frames from the driver may have partial checksums.
    pub(crate) const CHECKSUM: u64 = 1 << 0;
    /// A frame for the driver may take several buffers.
    pub(crate) const MERGED_BUFFERS: u64 = 1 << 15;
    /// There is a control queue: the front end's own, without which it takes no more than one queue pair.
    pub(crate) const CONTROL_QUEUE: u64 = 1 << 17;
    pub(crate) const QUEUES: u64 = 1 << 22;
    /// Header and data lie in descriptors in whatever way.
    pub(crate) const ANY_LAYOUT: u64 = 1 << 27;
    pub(crate) const INDIRECT: u64 = 1 << 28;
    /// vhost-user's own: protocol features are negotiated, and rings enabled one by one.
    pub(crate) const PROTOCOL: u64 = 1 << 30;
    pub(crate) const MODERN: u64 = 1 << 32;

    pub(crate) const OFFERED: u64 =
        CHECKSUM | MERGED_BUFFERS | CONTROL_QUEUE | QUEUES | ANY_LAYOUT | INDIRECT | PROTOCOL | MODERN;
}

const _: () = assert!(feature::PROTOCOL == VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits());

/// One ring, as far as it was described.
#[derive(Debug, Default)]
struct RingState {
    size: u16,
    /// Where it goes on.
    base: u16,
    place: Option<RingPlace>,
    /// Given: the ring is started.
    kick: Option<Arc<EventFd>>,
    call: Option<Arc<EventFd>>,
    is_enabled: bool,
}

/// The device behind one connection.
#[derive(Debug)]
pub(super) struct Device {
    shared: Arc<Shared>,
    features: u64,
    memory: Arc<GuestMemory>,
    rings: Vec<RingState>,
    /// What was refused last, and why.
    complaint: Option<String>,
}

impl Device {
    /// Nothing is known yet.
    pub(super) fn new(shared: Arc<Shared>) -> Device {
        let rings = (0..2 * shared.queue_count()).map(|_| RingState::default()).collect();
        Device { shared, features: 0, memory: Arc::default(), rings, complaint: None }
    }

    /// What was refused last, and why.
    pub(super) fn take_complaint(&mut self) -> Option<String> {
        self.complaint.take()
    }

    fn refuse(&mut self, why: impl Into<String>) -> Error {
        self.complaint = Some(why.into());
        Error::InvalidParam
    }

    fn ring(&mut self, index: u32) -> Result<usize> {
        let count = self.rings.len();
        usize::try_from(index).ok().filter(|index| *index < count).ok_or_else(|| {
            self.refuse(format!(
                "the front end names ring {index}, and there are {count}: give it fewer queues"
            ))
        })
    }

    /// Changes a ring, which stands still meanwhile.
    fn change(&mut self, index: u32, edit: impl FnOnce(&mut RingState)) -> Result<()> {
        let index = self.ring(index)?;
        self.stop(index);
        edit(&mut self.rings[index]);
        self.start(index);
        Ok(())
    }

    /// Changes what all rings depend on.
    fn change_all(&mut self, edit: impl FnOnce(&mut Device)) {
        (0..self.rings.len()).for_each(|index| self.stop(index));
        edit(self);
        (0..self.rings.len()).for_each(|index| self.start(index));
    }

    /// Takes a ring from its port.
    fn stop(&mut self, index: usize) {
        let (queue, is_from_guest) = (index / 2, index % 2 == 1);
        let base = if is_from_guest {
            self.shared.put_receiver(queue, None).map(|receiver| receiver.index())
        } else {
            self.shared.put_sender(queue, None).map(|mut sender| sender.stop())
        };
        if let Some(base) = base {
            self.rings[index].base = base;
        }
    }

    /// Gives a ring to its port, if all is known that it needs.
    fn start(&mut self, index: usize) {
        let RingState { size, place: Some(place), kick: Some(kick), call, is_enabled: true, .. } =
            &self.rings[index]
        else {
            return;
        };
        let ring = match Ring::new(&self.memory, *place, *size) {
            Ok(ring) => ring,
            // The memory may come with the next message.
            Err(why) => {
                return self.shared.note(format!("ring {index} of the front end does not run: {why}"));
            }
        };
        let (memory, agreed) = (Arc::clone(&self.memory), self.agreed());
        if index % 2 == 1 {
            let receiver = Receiver::new(ring, memory, agreed, Arc::clone(kick), call.clone());
            self.shared.put_receiver(index / 2, Some(receiver));
        } else {
            self.shared.put_sender(index / 2, Some(Sender::new(ring, memory, agreed, call.clone())));
        }
    }

    fn agreed(&self) -> Agreed {
        let has = |feature| self.features & feature != 0;
        let is_merging = has(feature::MERGED_BUFFERS);
        Agreed {
            header_len: header::header_len(has(feature::MODERN), is_merging),
            is_merging,
            may_be_partial: has(feature::CHECKSUM),
        }
    }

    fn reset(&mut self) {
        self.change_all(|device| {
            device.features = 0;
            device.rings.iter_mut().for_each(|ring| *ring = RingState::default());
        });
    }

    fn event(&mut self, file: File) -> Result<Arc<EventFd>> {
        match EventFd::from_peer(file.into()) {
            Ok(event) => Ok(Arc::new(event)),
            Err(_) => Err(self.refuse("the front end's descriptor of a ring is no eventfd")),
        }
    }

    fn unserved<T>(&mut self, what: &'static str) -> Result<T> {
        self.complaint = Some(format!("the front end asks for {what}, which was not offered"));
        Err(Error::InvalidOperation(what))
    }
}

impl VhostUserBackendReqHandlerMut for Device {
    fn set_owner(&mut self) -> Result<()> {
        Ok(())
    }

    fn reset_owner(&mut self) -> Result<()> {
        self.reset();
        Ok(())
    }

    fn reset_device(&mut self) -> Result<()> {
        self.reset();
        Ok(())
    }

    fn get_features(&mut self) -> Result<u64> {
        Ok(feature::OFFERED)
    }

    fn set_features(&mut self, features: u64) -> Result<()> {
        if features & !feature::OFFERED != 0 {
            return Err(
                self.refuse(format!("the front end wants features {features:#x} that were not offered"))
            );
        }
        self.change_all(|device| {
            device.features = features;
            if features & feature::PROTOCOL == 0 {
                device.rings.iter_mut().for_each(|ring| ring.is_enabled = true);
            }
        });
        self.shared.agree(features);
        Ok(())
    }

    fn set_mem_table(
        &mut self,
        regions: &[VhostUserMemoryRegion],
        files: Vec<File>,
        _: Option<bool>,
    ) -> Result<Option<Vec<VhostUserMemoryRegionBase>>> {
        let places = regions.iter().map(|region| RegionPlace {
            start: region.guest_phys_addr,
            user_start: region.user_addr,
            len: region.memory_size,
            offset: region.mmap_offset,
        });
        let opened = GuestMemory::open(places.zip(files.into_iter().map(Into::into)));
        let memory = Arc::new(opened.map_err(|error| self.refuse(error.to_string()))?);
        self.change_all(|device| device.memory = memory);
        Ok(None)
    }

    fn set_vring_num(&mut self, index: u32, num: u32) -> Result<()> {
        match u16::try_from(num).ok().filter(|size| size.is_power_of_two() && *size <= RING_SIZE_MAX) {
            Some(size) => self.change(index, |ring| ring.size = size),
            None => Err(self.refuse(format!("a ring of {num} slots: it is a power of two up to 32768"))),
        }
    }

    fn set_vring_addr(
        &mut self,
        index: u32,
        _: VhostUserVringAddrFlags,
        descriptors: u64,
        used: u64,
        available: u64,
        _: u64,
    ) -> Result<()> {
        self.change(index, |ring| ring.place = Some(RingPlace { descriptors, available, used }))
    }

    /// Kept for whoever asks for it. A ring goes on where its used index says: all before that was given back, all behind it
    /// was not, whatever became of the back end that was there before.
    fn set_vring_base(&mut self, index: u32, base: u32) -> Result<()> {
        self.change(index, |ring| ring.base = base as u16)
    }

    fn get_vring_base(&mut self, index: u32) -> Result<VhostUserVringState> {
        self.change(index, |ring| ring.kick = None)?;
        let at = self.ring(index)?;
        Ok(VhostUserVringState::new(index, self.rings[at].base.into()))
    }

    fn set_vring_kick(&mut self, index: u8, fd: Option<File>) -> Result<()> {
        let Some(file) = fd else {
            return Err(self.refuse("the front end gives no descriptor to be woken by: give it one"));
        };
        let event = self.event(file)?;
        self.change(index.into(), |ring| ring.kick = Some(event))
    }

    fn set_vring_call(&mut self, index: u8, fd: Option<File>) -> Result<()> {
        let event = fd.map(|file| self.event(file)).transpose()?;
        self.change(index.into(), |ring| ring.call = event)
    }

    fn set_vring_err(&mut self, index: u8, _: Option<File>) -> Result<()> {
        self.ring(index.into()).map(drop)
    }

    fn get_protocol_features(&mut self) -> Result<VhostUserProtocolFeatures> {
        Ok(VhostUserProtocolFeatures::MQ)
    }

    fn set_protocol_features(&mut self, _: u64) -> Result<()> {
        Ok(())
    }

    fn get_queue_num(&mut self) -> Result<u64> {
        Ok(self.shared.queue_count() as u64)
    }

    fn set_vring_enable(&mut self, index: u32, enable: bool) -> Result<()> {
        self.change(index, |ring| ring.is_enabled = enable)
    }

    fn get_config(&mut self, _: u32, _: u32, _: VhostUserConfigFlags) -> Result<Vec<u8>> {
        self.unserved("configuration space")
    }

    fn set_config(&mut self, _: u32, _: &[u8], _: VhostUserConfigFlags) -> Result<()> {
        self.unserved("configuration space")
    }

    fn set_gpu_socket(&mut self, _: GpuBackend) -> Result<()> {
        self.unserved("a GPU")
    }

    fn get_shared_object(&mut self, _: VhostUserSharedMsg) -> Result<File> {
        self.unserved("shared objects")
    }

    fn get_inflight_fd(&mut self, _: &VhostUserInflight) -> Result<(VhostUserInflight, File)> {
        self.unserved("a record of buffers in flight")
    }

    fn set_inflight_fd(&mut self, _: &VhostUserInflight, _: File) -> Result<()> {
        self.unserved("a record of buffers in flight")
    }

    fn get_max_mem_slots(&mut self) -> Result<u64> {
        self.unserved("single memory regions")
    }

    fn add_mem_region(
        &mut self,
        _: &VhostUserSingleMemoryRegion,
        _: File,
        _: Option<bool>,
    ) -> Result<Option<VhostUserMemoryRegionBase>> {
        self.unserved("single memory regions")
    }

    fn remove_mem_region(&mut self, _: &VhostUserSingleMemoryRegion) -> Result<()> {
        self.unserved("single memory regions")
    }

    fn set_device_state_fd(
        &mut self,
        _: VhostTransferStateDirection,
        _: VhostTransferStatePhase,
        _: File,
    ) -> Result<Option<File>> {
        self.unserved("migration")
    }

    fn check_device_state(&mut self) -> Result<()> {
        self.unserved("migration")
    }

    fn get_shmem_config(&mut self) -> Result<VhostUserShMemConfig> {
        self.unserved("shared memory regions")
    }

    fn set_log_base(&mut self, _: &VhostUserLog, _: File) -> Result<()> {
        self.unserved("a log of written pages")
    }
}
