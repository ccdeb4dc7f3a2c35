//! `ioengine=rados` and `rbd`: what Ceph's own libraries say of a cluster that is not there; and, as no test has a
//! cluster, the way of the data through libraries that stand in for them.

#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Command, Output};

use iostrata_testkit::{Folder, alone, iostrata, run, skip};
use serde_json::Value;

const STAND_IN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stand_ins/ceph.rs");

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn is_installed(library: &str) -> bool {
    String::from_utf8_lossy(&run("ldconfig", &["-p"], Path::new("/")).stdout).contains(library)
}

#[test]
fn a_cluster_that_is_not_there_is_an_error() {
    let _alone = alone();
    if !is_installed("librados.so.2") || !is_installed("librbd.so.1") {
        skip!("the real libraries of Ceph", "apt-get install librados2 librbd1");
    }
    let folder = Folder::new("ceph-away");
    let nobody = "[global]\nmon_host = 127.0.0.1:1\nclient_mount_timeout = 1\nauth_client_required = none\n";
    std::fs::write(folder.path().join("ceph.conf"), nobody).unwrap();
    let cases = [
        ("--ioengine=rados --pool=p --size=1m --conf=ceph.conf", "the cluster cannot be reached: look at mon_host"),
        ("--ioengine=rbd --pool=p --rbdname=i", "the cluster cannot be reached: look at mon_host"),
        ("--ioengine=rados --pool=p --size=1m --conf=nix.conf", "no configuration of a cluster can be read (nix.conf)"),
        ("--ioengine=rados --size=1m", "pool= is missing"),
        ("--ioengine=rbd --pool=p", "rbdname= is missing"),
    ];
    for (words, wanted) in cases {
        let words: Vec<&str> = words.split_whitespace().chain(["--name=j", "--rw=write"]).collect();
        let mut command = Command::new(iostrata());
        command.args(words.iter()).current_dir(folder.path()).env("CEPH_CONF", folder.path().join("ceph.conf"));
        let refused = command.output().expect("iostrata");
        let all = format!("{}{}", said(&refused), String::from_utf8_lossy(&refused.stdout));
        assert!(refused.status.code() == Some(1) && all.contains(wanted), "{words:?}: {all}");
    }
}

/// Stand-ins for the two libraries, in this folder.
fn stand_ins(folder: &Folder) -> bool {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let words = ["--edition=2024", "--crate-type=cdylib", "-Cpanic=abort", STAND_IN, "-o", "librados.so.2"];
    let Ok(made) = Command::new(rustc).args(words).current_dir(folder.path()).output() else { return false };
    assert!(made.status.success(), "{}", said(&made));
    std::fs::copy(folder.path().join("librados.so.2"), folder.path().join("librbd.so.1")).unwrap();
    true
}

/// Runs a job on the stand-ins; its document, if it is well.
fn job(folder: &Folder, words: &str) -> Result<Value, String> {
    let mut command = Command::new(iostrata());
    command.args(["--name=j", "--pool=there", "--output-format=json+", "--output=o"]).args(words.split_whitespace());
    command.current_dir(folder.path()).env("LD_LIBRARY_PATH", folder.path());
    let done = command.env("STAND_IN_POOL", folder.path()).output().expect("iostrata");
    let text = std::fs::read_to_string(folder.path().join("o")).unwrap_or_default();
    let all = format!("{}{text}", said(&done));
    if !done.status.success() { Err(all) } else { Ok(serde_json::from_str::<Value>(&text).unwrap()["jobs"][0].clone()) }
}

#[test]
fn data_goes_to_objects_and_images_and_comes_back() {
    let _alone = alone();
    let folder = Folder::new("ceph-data");
    if !stand_ins(&folder) {
        skip!("the data of rados and rbd", "put rustc into PATH");
    }
    folder.give("image", 4 << 20);
    let engines = [
        ("--ioengine=rbd --rbdname=image", "image", "--busy_poll=0"),
        ("--ioengine=rados --filename=object --size=4m", "object", "--busy_poll=1"),
    ];
    for (engine, file, busy) in engines {
        let common = format!("{engine} --bs=16k --iodepth=16 {busy}");
        let written = job(&folder, &format!("{common} --rw=randwrite --buffer_pattern=0x7b --fsync=8")).unwrap();
        assert_eq!(written["write"]["io_bytes"], 4 << 20, "{engine}");
        assert!(written["sync"]["total_ios"].as_u64() >= Some(31), "{engine}");
        let bins = written["write"]["clat_ns"]["bins"].as_object().expect("bins");
        assert_eq!(bins.values().filter_map(Value::as_u64).sum::<u64>(), 256, "{engine}");
        let bytes = std::fs::read(folder.path().join(file)).unwrap();
        assert!(bytes.len() == 4 << 20 && bytes.iter().all(|byte| *byte == 0x7b), "{engine}");
        job(&folder, &format!("{common} --rw=randwrite --verify=crc32c")).unwrap();
        let mut bytes = std::fs::read(folder.path().join(file)).unwrap();
        bytes[100_000] ^= 1;
        std::fs::write(folder.path().join(file), bytes).unwrap();
        let damaged = job(&folder, &format!("{common} --rw=randwrite --verify=crc32c --verify_only")).unwrap_err();
        assert!(damaged.contains("98304"), "{engine}: {damaged}");
        let trimmed = job(&folder, &format!("{common} --rw=randtrim")).unwrap();
        assert_eq!(trimmed["trim"]["io_bytes"], 4 << 20, "{engine}");
        assert!(std::fs::read(folder.path().join(file)).unwrap().iter().all(|byte| *byte == 0), "{engine}");
    }
    let away = job(&folder, "--ioengine=rbd --rbdname=nix --rw=read").unwrap_err();
    assert!(away.contains("rbdname=nix cannot be opened: rbd ls"), "{away}");
    let away = job(&folder, "--ioengine=rbd --rbdname=image --rw=read --pool=nix").unwrap_err();
    assert!(away.contains("pool=nix cannot be opened: rados lspools"), "{away}");
    let beyond = job(&folder, "--ioengine=rados --filename=empty --size=1m --rw=read").unwrap_err();
    assert!(beyond.contains("the file ended here"), "{beyond}");
}
