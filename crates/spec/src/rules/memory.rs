//! The memory for data: texts with a grammar of their own, and sizes that cannot be.

use std::path::PathBuf;

use super::Rules;
use crate::api::Severity;
use crate::job::MemoryKind;

impl Rules<'_> {
    pub(super) fn memory(&mut self) {
        if let Some(text) = self.built.draft.texts.memory.clone() {
            self.memory_kind(&text);
        }
        if self.built.draft.job.memory.huge_page_bytes.is_some_and(|bytes| !bytes.is_power_of_two()) {
            let help = "/sys/kernel/mm/hugepages names the sizes that the system has";
            self.say(Severity::Error, &["hugepage-size"], "the size of a huge page is a power of two", help);
        }
    }

    fn memory_kind(&mut self, text: &str) {
        let (word, file) = text.split_once(':').map_or((text.trim(), ""), |(word, file)| (word.trim(), file));
        let path = (!file.is_empty()).then(|| PathBuf::from(file));
        let takes_file = word.starts_with("mmap");
        let kind = match (word, path) {
            ("mmap", Some(path)) => MemoryKind::File(path),
            ("mmapshared", Some(path)) => MemoryKind::SharedFile(path),
            ("mmaphuge", Some(path)) => MemoryKind::HugeFile(path),
            ("mmapshared", None) => MemoryKind::Shared,
            ("mmaphuge", None) => MemoryKind::Huge,
            ("shm", _) => MemoryKind::Segment,
            ("shmhuge", _) => MemoryKind::HugeSegment,
            ("cudamalloc", _) => {
                let message = "memory of a GPU cannot be had: it takes NVIDIA's driver and a build with CUDA";
                let help = "use `mem=malloc`, or `mem=mmapshared:FILE` with a file that the GPU's driver maps";
                return self.say(Severity::Error, &["mem"], message, help);
            }
            _ => MemoryKind::Private,
        };
        self.built.draft.job.memory.kind = kind;
        if !file.is_empty() && !takes_file {
            let message = format!("mem={word} uses no file: what is after the colon has no effect");
            self.say(Severity::Warning, &["mem"], &message, "mmap, mmapshared and mmaphuge can use one");
        }
    }

    /// What only some engines can be asked for.
    pub(super) fn engine_requests(&mut self) {
        if self.built.draft.job.reporting.block_lives && self.built.draft.job.files > 1 {
            let message = "the lives of blocks are told of one file, and this job has several";
            self.say(Severity::Error, &["block_error_percentiles"], message, "name one file or device");
        }
        let job = &mut self.built.draft.job;
        let engine = job.engine.clone();
        // The kernel takes no others.
        job.direct |= job.engine_options.atomic;
        if job.engine_options.atomic && !["pvsync2", "libaio", "io_uring"].contains(&engine.as_str()) {
            let message = format!("ioengine={engine} has no way to ask for atomic writes");
            self.say(Severity::Error, &["atomic"], &message, "use ioengine=pvsync2, libaio or io_uring");
        }
    }
}
