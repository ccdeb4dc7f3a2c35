//! `io_uring_cmd` on a real NVMe namespace, beside fio where it has the engine. For `cargo xtask soak --stage
//! hardware`.
//!
//! The namespace is named by `IOSTRATA_NVME=/dev/ngXnY`, and what is on it is lost. Any format will do: with metadata
//! in a buffer of their own or behind the data of each block, with protection information or without.

#![cfg(target_os = "linux")]

use iostrata_testkit::{Folder, Outcome, alone, fio, iostrata, measure, skip};

/// Bytes of a block as a job counts them, if it is not 512; `IOSTRATA_NVME_BLOCK`.
fn block_bytes() -> u64 {
    std::env::var("IOSTRATA_NVME_BLOCK").ok().and_then(|bytes| bytes.parse().ok()).unwrap_or(512)
}

#[test]
fn what_is_written_past_the_block_layer_is_read_back() {
    let _alone = alone();
    let Ok(device) = std::env::var("IOSTRATA_NVME") else {
        skip!("commands to NVMe", "IOSTRATA_NVME=/dev/ngXnY, whose contents are lost");
    };
    let folder = Folder::new("nvme");
    let (bs, size) = (8 * block_bytes(), 2048 * block_bytes());
    let base =
        format!("--name=j --ioengine=io_uring_cmd --filename={device} --bs={bs} --size={size} --md_per_io_size=128");
    let ours = |how: &str| -> Outcome {
        let words = format!("{base} {how}");
        measure(iostrata(), &words.split_whitespace().collect::<Vec<_>>(), folder.path())
    };
    for how in [
        "--rw=randwrite --verify=crc32c --iodepth=8",
        "--rw=randwrite --verify=crc32c --iodepth=8 --fixedbufs --registerfiles --fsync=16",
        "--rw=write --verify=md5 --iodepth=4 --nonvectored=0 --writefua=1 --readfua=1",
        "--rw=randwrite --verify=crc32c --iodepth=4 --pi_act=0 --pi_chk=GUARD,REFTAG,APPTAG",
        "--rw=randwrite --verify=crc32c --iodepth=4 --sqthread_poll",
        "--rw=randwrite --verify=crc32c --iodepth=4 --force_async=3",
    ] {
        let outcome = ours(how);
        let done = outcome.counts()[0].done;
        assert_eq!((outcome.code, done[0], done[1]), (0, (size, 256), (size, 256)), "{how}: {}", outcome.stderr);
    }
    assert_eq!(ours("--rw=read --read_mode=verify").counts()[0].done[0], (size, 256));
    assert_eq!(ours("--rw=write --write_mode=zeroes").counts()[0].done[1], (size, 256));
    assert_eq!(ours("--rw=randtrim --iodepth=4").counts()[0].done[2], (size, 256));
    let odd = ours(&format!("--rw=read --bs={}", bs + 1));
    assert_eq!((odd.code, odd.counts()[0].error), (1, 22), "{}", odd.stderr);
    if let Some(fio) = fio() {
        let words = format!("{base} --rw=randread --iodepth=8").replace(" --md_per_io_size=128", "");
        let theirs = measure(fio, &words.split_whitespace().collect::<Vec<_>>(), folder.path());
        assert_eq!(ours("--rw=randread --iodepth=8").counts()[0].done, theirs.counts()[0].done);
    }
}
