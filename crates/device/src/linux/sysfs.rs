//! The tree of disks out of `/sys` and `/proc`, read below any root folder so that tests can make one up.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use iostrata_os::file::{DeviceNumber, Kind, facts_at};

use super::tables;
use crate::tree::{Behind, Device, Partition, Tree, Use};

/// Where `/sys`, `/proc`, `/run` and `/dev` are found.
pub(crate) struct Host {
    root: PathBuf,
}

/// Major number of the memory devices, and those of its minors that swallow writes: null, zero, full, random, urandom.
const MEMORY_MAJOR: u32 = 1;
const HARMLESS_MINORS: [u32; 5] = [3, 5, 7, 8, 9];

impl Host {
    /// This machine.
    pub(crate) fn system() -> Self {
        Self { root: "/".into() }
    }

    /// A machine whose files lie below `root`.
    #[cfg(test)]
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.into() }
    }

    /// All block devices with their uses.
    ///
    /// # Errors
    /// `/sys/class/block` cannot be listed.
    pub(crate) fn tree(&self) -> io::Result<Tree> {
        let mut devices = BTreeMap::new();
        for entry in std::fs::read_dir(self.root.join("sys/class/block"))? {
            let link = entry?.path();
            // A device can vanish between listing and looking; then it is not there.
            if let Some(device) = self.device(&link) {
                devices.insert(device.name.clone(), device);
            }
        }
        self.find_loop_backings(&mut devices);
        self.find_mounts(&mut devices);
        self.find_mounted_btrfs(&mut devices);
        for path in tables::swap_devices(&self.read("proc/swaps")) {
            self.add_use(&mut devices, &path, || Use::Swap);
        }
        Ok(Tree { devices: devices.into_values().collect() })
    }

    /// What lies behind a character device.
    pub(crate) fn behind(&self, tree: &Tree, number: DeviceNumber) -> Behind {
        if number.major == MEMORY_MAJOR && HARMLESS_MINORS.contains(&number.minor) {
            return Behind::Nothing;
        }
        let link = self.root.join(format!("sys/dev/char/{number}"));
        let Ok(real) = std::fs::canonicalize(link) else { return Behind::Unknown(number.to_string()) };
        let name = file_name(&real);
        let class = std::fs::read_link(real.join("subsystem")).map(|to| file_name(&to)).unwrap_or_default();
        let disks = match class.as_str() {
            // SCSI: sg, bsg, tapes and changers share the device's folder with its disk, if it is one.
            "scsi_generic" | "bsg" => self.disks_in(tree, &real.join("device/block")),
            // ng0n1 is the other face of nvme0n1.
            "nvme-generic" => {
                let disk = format!("nvme{}", name.trim_start_matches("ng"));
                tree.devices.iter().filter(|d| d.name == disk).map(|d| d.number).collect()
            }
            "nvme" => self.namespaces(tree, &real, &name),
            _ => Vec::new(),
        };
        if disks.is_empty() { Behind::Unknown(name) } else { Behind::Disks(disks) }
    }

    /// Bytes of the whole SCSI disk of this number, or behind this character device.
    pub(crate) fn scsi_disk_bytes(&self, kind: Kind, number: DeviceNumber) -> Option<u64> {
        let tree = self.tree().ok()?;
        let disk = match kind {
            Kind::Block => number,
            Kind::Char => match self.behind(&tree, number) {
                Behind::Disks(disks) if disks.len() == 1 => disks[0],
                _ => return None,
            },
            _ => return None,
        };
        // A partition has no such folder, and what a mapper makes neither.
        let disk = tree.get(disk)?;
        let folder = self.root.join("sys/class/block").join(&disk.name);
        folder.join("device/scsi_level").exists().then_some(disk.size_bytes)
    }

    /// Bytes of the NVMe namespace behind this generic character device.
    pub(crate) fn nvme_namespace_bytes(&self, kind: Kind, number: DeviceNumber) -> Option<u64> {
        let tree = self.tree().ok().filter(|_| kind == Kind::Char)?;
        match self.behind(&tree, number) {
            Behind::Disks(disks) if disks.len() == 1 => {
                let disk = tree.get(disks[0])?;
                disk.name.starts_with("nvme").then_some(disk.size_bytes)
            }
            _ => None,
        }
    }

    /// The node of a device as the kernel names it.
    pub(crate) fn node(&self, device: &Device) -> PathBuf {
        self.root.join("dev").join(device.name.replace('!', "/"))
    }

    /// Loop devices and the files behind them.
    pub(crate) fn loop_files(&self) -> Vec<(String, PathBuf)> {
        let class = self.root.join("sys/class/block");
        let names = list(&class).into_iter().filter(|name| name.starts_with("loop"));
        names
            .filter_map(|name| Some((name.clone(), text_of(&class.join(&name).join("loop/backing_file"))?.into())))
            .collect()
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap_or_default()
    }

    fn device(&self, link: &Path) -> Option<Device> {
        let real = std::fs::canonicalize(link).ok()?;
        let word = |path: &str| text_of(&real.join(path));
        let flag = |path: &str| word(path).is_some_and(|text| text == "1");
        let number = tables::number(&word("dev")?)?;
        let udev = self.read(&format!("run/udev/data/b{number}"));
        let udev = |key: &str| udev.lines().find_map(|line| nonempty(line.strip_prefix("E:")?.strip_prefix(key)?));
        let sectors = |path: &str| word(path).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        let partition = word("partition").and_then(|number| {
            let disk = tables::number(&text_of(&real.parent()?.join("dev"))?)?;
            Some(Partition { disk, number: number.parse().ok()?, start_bytes: sectors("start") * 512 })
        });
        let whole = partition.is_none();
        let told = |paths: &[&str], key: &str| {
            let told = paths.iter().find_map(|path| word(path)).or_else(|| udev(key));
            told.filter(|_| whole)
        };
        let serial = told(&["serial", "device/serial"], "ID_SERIAL_SHORT=").or_else(|| vpd_serial(&real, whole));
        let holders = list(&real.join("holders")).into_iter().map(|name| Use::Holder { name }).collect();
        Some(Device {
            name: file_name(link),
            number,
            // Sizes and starts in sysfs count 512 bytes, whatever the device's own block is.
            size_bytes: sectors("size") * 512,
            read_only: flag("ro"),
            removable: flag("removable"),
            rotational: word("queue/rotational").map(|text| text == "1"),
            model: told(&["device/model"], "ID_MODEL="),
            serial,
            wwid: told(&["wwid", "device/wwid", "dm/uuid", "md/uuid"], "ID_WWN="),
            partition,
            backing_file: word("loop/backing_file").map(PathBuf::from),
            backing_device: None,
            uses: holders,
        })
    }

    /// The number of the block device at a path, or of that name where `/dev` is not to be had.
    fn number_of(&self, devices: &BTreeMap<String, Device>, path: &Path) -> Option<DeviceNumber> {
        let below = path.strip_prefix("/").ok()?;
        if let Ok(facts) = facts_at(&self.root.join(below)) {
            return (facts.kind == Kind::Block).then_some(facts.device);
        }
        let name = path.strip_prefix("/dev").ok()?.to_str()?.replace('/', "!");
        devices.get(&name).map(|device| device.number)
    }

    fn add_use(&self, devices: &mut BTreeMap<String, Device>, path: &Path, what: impl Fn() -> Use) {
        if let Some(number) = self.number_of(devices, path) {
            add_use(devices, number, what);
        }
    }

    fn find_loop_backings(&self, devices: &mut BTreeMap<String, Device>) {
        let loops: Vec<_> = devices.values().filter_map(|d| Some((d.name.clone(), d.backing_file.clone()?))).collect();
        for (name, file) in loops {
            let behind = self.number_of(devices, &file);
            if let Some(number) = behind {
                add_use(devices, number, || Use::Loop { name: name.clone() });
            }
            if let Some(device) = devices.get_mut(&name) {
                device.backing_device = behind;
            }
        }
    }

    fn find_mounts(&self, devices: &mut BTreeMap<String, Device>) {
        for mount in tables::mounts(&self.read("proc/self/mountinfo")) {
            let used = || Use::Mounted { at: mount.at.clone() };
            if mount.number.major != 0 {
                add_use(devices, mount.number, used);
                continue;
            }
            // btrfs and bcachefs number their file systems themselves and name a device, or several, as the source.
            for source in mount.source.split(':').filter(|source| source.starts_with("/dev/")) {
                self.add_use(devices, Path::new(source), used);
            }
        }
    }

    /// A mounted btrfs lists its devices; the mount table names only one of them.
    fn find_mounted_btrfs(&self, devices: &mut BTreeMap<String, Device>) {
        for id in list(&self.root.join("sys/fs/btrfs")) {
            for name in list(&self.root.join("sys/fs/btrfs").join(&id).join("devices")) {
                if let Some(device) = devices.get_mut(&name) {
                    device.uses.push(Use::Member { of: format!("btrfs {id}") });
                }
            }
        }
    }

    fn disks_in(&self, tree: &Tree, folder: &Path) -> Vec<DeviceNumber> {
        let names = list(folder);
        tree.devices.iter().filter(|d| names.contains(&d.name)).map(|d| d.number).collect()
    }

    /// All namespaces of an NVMe controller: those in its folder and, with several paths, those of the subsystem that
    /// lists the controller.
    fn namespaces(&self, tree: &Tree, controller: &Path, name: &str) -> Vec<DeviceNumber> {
        let belongs = |device: &&Device| {
            let link = self.root.join("sys/class/block").join(&device.name);
            let Ok(real) = std::fs::canonicalize(link) else { return false };
            let above = real.parent();
            real.starts_with(controller) || above.is_some_and(|subsystem| subsystem.join(name).exists())
        };
        tree.disks().filter(|d| d.name.starts_with("nvme")).filter(belongs).map(|d| d.number).collect()
    }
}

fn add_use(devices: &mut BTreeMap<String, Device>, number: DeviceNumber, what: impl Fn() -> Use) {
    for device in devices.values_mut().filter(|device| device.number == number) {
        device.uses.push(what());
    }
}

/// SCSI's page 0x80: four bytes of header, then the serial number.
fn vpd_serial(device: &Path, whole: bool) -> Option<String> {
    let page = std::fs::read(device.join("device/vpd_pg80")).ok().filter(|_| whole)?;
    nonempty(&String::from_utf8_lossy(page.get(4..)?))
}

fn text_of(path: &Path) -> Option<String> {
    nonempty(&String::from_utf8_lossy(&std::fs::read(path).ok()?))
}

fn nonempty(text: &str) -> Option<String> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_string())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The names in a folder, sorted; none if it is not there.
fn list(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
