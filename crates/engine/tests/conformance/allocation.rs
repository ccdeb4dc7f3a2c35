//! `falloc`, which moves no data but the places where they lie.

use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use iostrata_engine::Op;
use iostrata_spec::EngineOptions;

use crate::bench::{BLOCK, Bench, request};
use crate::targets::{FileTarget, open};

/// Tells the story on a file system that can preallocate and punch holes.
pub(crate) fn tell(target: &FileTarget) {
    let file = open(&target.path, false, true).expect("buffered files open everywhere");
    let falloc = iostrata_engine::find("falloc").expect("known");
    let mut bench = Bench::new(falloc, &EngineOptions::default(), file.as_raw_fd(), false, 1).expect("make");
    let facts = || {
        let facts = file.metadata().expect("stat");
        (facts.len(), facts.blocks() * 512)
    };
    assert_eq!(bench.one(request(Op::Read, 16 * BLOCK)), BLOCK as i32);
    assert_eq!(facts().0, 0, "a read keeps the length");
    assert!(facts().1 >= BLOCK, "and has its block allocated");
    assert_eq!(bench.one(request(Op::Write, 31 * BLOCK)), BLOCK as i32);
    assert_eq!(facts().0, 32 * BLOCK, "a write extends the file");
    assert!(facts().1 >= 2 * BLOCK);
    assert_eq!(bench.one(request(Op::Sync, 0)), 0);
    // On the medium: what was only promised may come and go without being seen.
    std::os::unix::fs::FileExt::write_all_at(&file, &[1; BLOCK as usize], 31 * BLOCK).expect("write");
    file.sync_all().expect("sync");
    let before = facts().1;
    assert_eq!(bench.one(request(Op::Trim, 31 * BLOCK)), BLOCK as i32);
    assert_eq!(facts().0, 32 * BLOCK, "a trim keeps the length");
    assert!(facts().1 < before, "and gives the block back");
    let mut nowhere = Bench::new(falloc, &EngineOptions::default(), -1, false, 1).expect("make");
    for op in [Op::Read, Op::Write, Op::Trim, Op::Sync] {
        assert_eq!(nowhere.one(request(op, 0)), -libc::EBADF, "{op:?}");
    }
}
