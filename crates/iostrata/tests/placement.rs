//! Preconditioning in one pass, and marks for where data belongs.

use iostrata_testkit::{Folder, iostrata, run};
use serde_json::Value;

/// Exit code, writes of the first job, and what was said.
fn writes(caller: &str, more: &str) -> (Option<i32>, u64, String) {
    let folder = Folder::new(&format!("placement-{caller}"));
    folder.give("scheme", 0);
    std::fs::write(folder.path().join("scheme"), "0, 131072, 0\n131072, 262144, 1\n").unwrap();
    let words: Vec<&str> = "--output-format=json --name=j --bs=4k".split(' ').chain(more.split(' ')).collect();
    let output = run(iostrata(), &words, folder.path());
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let ios = document["jobs"][0]["write"]["total_ios"].as_u64().unwrap_or_default();
    (output.status.code(), ios, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn sprandom_writes_as_much_as_the_flash_holds_and_once_for_each_loop() {
    let pass = "--ioengine=sim --rw=randwrite --sprandom=1 --size=8m";
    // 2048 blocks and 15% more.
    assert_eq!(writes("pass", pass), (Some(0), 2355, String::new()));
    assert_eq!(writes("spare", &format!("{pass} --spr_op=0.5 --spr_num_regions=20")).1, 3072);
    assert_eq!(writes("loops", &format!("{pass} --loops=2")).1, 4710);
    let (code, _, said) = writes("few", &format!("{pass} --spr_num_regions=1"));
    assert!(code == Some(1) && said.contains("give a larger spr_num_regions="), "{said}");
}

#[test]
fn streams_are_marked_by_turns_and_by_a_scheme_and_all_is_written() {
    for more in ["", " --plids=2,4", " --plid_select=random", " --plid_select=scheme --dp_scheme=scheme"] {
        for engine in ["psync", "io_uring --iodepth=8"] {
            let line = format!("--rw=write --size=256k --dataplacement=streams{more} --ioengine={engine}");
            assert_eq!(writes("streams", &line), (Some(0), 64, String::new()), "{line}");
        }
    }
    let (code, ios, said) = writes("fdp", "--rw=write --size=256k --fdp=1");
    assert!(code == Some(1) && ios == 0 && said.contains("dataplacement=fdp is not carried out yet"), "{said}");
}
