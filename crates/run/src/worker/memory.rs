//! The memory for a worker's data: where `mem` and its kin want it.

use std::io;
use std::sync::Arc;

use iostrata_engine::SlotArena;
use iostrata_os::memory::{Source, huge_pages};
use iostrata_spec::{Memory, MemoryKind};

use crate::error::{RunError, plain};
use crate::plan::WorkerPlan;

/// `depth` buffers for the job's largest block.
pub(super) fn make_arena(plan: &WorkerPlan, depth: u32) -> Result<Arc<SlotArena>, RunError> {
    let (job, memory) = (&plan.job, &plan.job.memory);
    let bytes = job.block_limits().1 as usize;
    let alignment = usize::try_from(memory.align_bytes).unwrap_or(usize::MAX);
    SlotArena::from_source(depth, bytes, alignment, source(memory)).map_err(|error| match &memory.kind {
        MemoryKind::File(path) | MemoryKind::SharedFile(path) | MemoryKind::HugeFile(path)
            if error.kind() == io::ErrorKind::InvalidInput =>
        {
            RunError::job(job, format!("mem={}: {}", path.display(), plain(&error)))
        }
        MemoryKind::Huge | MemoryKind::HugeSegment | MemoryKind::HugeFile(_) => {
            let errno = error.raw_os_error().unwrap_or(libc::ENOMEM);
            let needed_bytes = (bytes as u64).saturating_mul(depth.into()).saturating_add(memory.align_bytes);
            RunError::job_errno(job, errno, no_huge_pages(memory, needed_bytes, &error))
        }
        _ => RunError::system(job, None, &format!("getting {depth} buffers of {bytes} bytes"), &error),
    })
}

fn source(memory: &Memory) -> Source<'_> {
    match &memory.kind {
        MemoryKind::Private => Source::Private,
        MemoryKind::Shared => Source::Shared,
        MemoryKind::File(path) => Source::File { path, shared: false },
        MemoryKind::SharedFile(path) => Source::File { path, shared: true },
        MemoryKind::Huge => Source::Huge(memory.huge_page_bytes),
        MemoryKind::HugeFile(path) => Source::HugeFile(path),
        MemoryKind::Segment => Source::Segment,
        MemoryKind::HugeSegment => Source::HugeSegment(memory.huge_page_bytes),
    }
}

/// Why there are no huge pages, and which setting gives some.
fn no_huge_pages(memory: &Memory, needed_bytes: u64, error: &io::Error) -> String {
    let why = plain(error);
    let Some(pages) = huge_pages(memory.huge_page_bytes) else {
        return format!("no memory in huge pages: {why}; this system has none");
    };
    let unit_bytes = memory.huge_page_bytes.unwrap_or(0).max(pages.page_bytes);
    let needed = needed_bytes.div_ceil(unit_bytes).max(1) * (unit_bytes / pages.page_bytes);
    let (kib, free, total) = (pages.page_bytes >> 10, pages.free, pages.total);
    let wanted = total + needed.saturating_sub(free);
    let remedy = if pages.default {
        format!("`sysctl vm.nr_hugepages={wanted}` (/proc/sys/vm/nr_hugepages)")
    } else {
        format!("`echo {wanted} > /sys/kernel/mm/hugepages/hugepages-{kib}kB/nr_hugepages`")
    };
    format!(
        "no memory in huge pages: {why}; each worker needs {needed} of {kib} KiB, and {free} of {total} are free: \
         {remedy} reserves more"
    )
}
