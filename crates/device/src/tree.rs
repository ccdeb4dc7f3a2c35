//! The tree of disks: which block devices there are, how they hang together, and what uses them.

use std::collections::HashSet;
use std::path::PathBuf;

use iostrata_os::file::DeviceNumber;

use crate::signature::identifier;

/// One block device: a disk, a partition, a mapped, RAID or loop device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// The kernel's name: `sda1`.
    pub name: String,
    /// The kernel's number.
    pub number: DeviceNumber,
    /// Bytes.
    pub size_bytes: u64,
    /// Whether the kernel refuses writes.
    pub read_only: bool,
    /// Whether the medium, or the device, can be taken away.
    pub removable: bool,
    /// Whether it turns; `None` if not told.
    pub rotational: Option<bool>,
    /// The maker's name for it.
    pub model: Option<String>,
    /// The maker's serial number.
    pub serial: Option<String>,
    /// The world-wide identifier (`naa.…`, `eui.…`), or that of the mapped device.
    pub wwid: Option<String>,
    /// For a partition: where it lies.
    pub partition: Option<Partition>,
    /// For a loop device: the file behind it.
    pub backing_file: Option<PathBuf>,
    /// The block device behind a loop device.
    pub backing_device: Option<DeviceNumber>,
    /// What uses it right now.
    pub uses: Vec<Use>,
}

/// A partition's place on its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The disk.
    pub disk: DeviceNumber,
    /// Its number there, from 1.
    pub number: u32,
    /// Its first byte there.
    pub start_bytes: u64,
}

/// Something that uses a block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Use {
    /// A file system on it is mounted.
    Mounted {
        /// Where.
        at: PathBuf,
    },
    /// It is swap space.
    Swap,
    /// Another block device is built on it: device mapper, RAID, bcache.
    Holder {
        /// That device's name.
        name: String,
    },
    /// It belongs to a mounted file system of several devices.
    Member {
        /// The file system, as in "btrfs 1234-…".
        of: String,
    },
    /// A loop device reads and writes it.
    Loop {
        /// That device's name.
        name: String,
    },
}

impl Use {
    /// As the end of "sda …".
    fn phrase(&self) -> String {
        match self {
            Self::Mounted { at } => format!("is mounted at {}", at.display()),
            Self::Swap => "is active swap space".into(),
            Self::Holder { name } => format!("is held by {name}"),
            Self::Member { of } => format!("belongs to the mounted {of}"),
            Self::Loop { name } => format!("is what {name} reads and writes"),
        }
    }
}

impl Device {
    /// Names of the thing itself that do not change when it is plugged in elsewhere: `wwn-…`, `serial-…`. A
    /// partition's end in `-partN`.
    pub fn identities(&self, tree: &Tree) -> Vec<String> {
        if let Some(partition) = self.partition {
            let disk = tree.get(partition.disk).map(|disk| disk.identities(tree)).unwrap_or_default();
            return disk.into_iter().map(|id| format!("{id}-part{}", partition.number)).collect();
        }
        let wwn = self.wwid.as_ref().map(|id| identifier(&format!("wwn-{id}")));
        let serial = self.serial.as_ref().map(|id| identifier(&format!("serial-{id}")));
        wwn.into_iter().chain(serial).collect()
    }
}

/// What a write through a character device reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// Nothing that could be lost.
    Nothing,
    /// These disks.
    Disks(Vec<DeviceNumber>),
    /// Who knows; this is the kernel's name for it.
    Unknown(String),
}

/// All block devices of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// In the order of their names.
    pub devices: Vec<Device>,
}

impl Tree {
    /// The device with this number.
    pub fn get(&self, number: DeviceNumber) -> Option<&Device> {
        self.devices.iter().find(|device| device.number == number)
    }

    /// The partitions of a disk.
    pub fn partitions(&self, disk: DeviceNumber) -> impl Iterator<Item = &Device> {
        self.devices.iter().filter(move |device| device.partition.is_some_and(|p| p.disk == disk))
    }

    /// Everything but partitions.
    pub fn disks(&self) -> impl Iterator<Item = &Device> {
        self.devices.iter().filter(|device| device.partition.is_none())
    }

    /// Why writing to this device would hit something that is in use: phrases such as "its partition sda1 is mounted
    /// at /". Empty if nothing speaks against it.
    ///
    /// What counts: the device itself; all its partitions; the disk it is a partition of (but not the other partitions
    /// there); the same for the device behind a loop device, and for other paths to the same disk.
    pub fn in_use(&self, number: DeviceNumber) -> Vec<String> {
        let mut phrases = Vec::new();
        self.collect_uses(number, "it", None, &mut HashSet::new(), &mut phrases);
        phrases
    }

    /// `by` is the loop device whose own use of this one is what we came from.
    fn collect_uses(
        &self,
        number: DeviceNumber,
        subject: &str,
        by: Option<&str>,
        seen: &mut HashSet<DeviceNumber>,
        phrases: &mut Vec<String>,
    ) {
        let Some(device) = self.get(number).filter(|_| seen.insert(number)) else { return };
        let mut say = |subject: &str, device: &Device| {
            let others = device.uses.iter().filter(|u| !matches!(u, Use::Loop { name } if Some(name.as_str()) == by));
            phrases.extend(others.map(|u| format!("{subject} {}", u.phrase())));
        };
        say(subject, device);
        for part in self.partitions(number) {
            let whose = match subject {
                "it" => format!("its partition {}", part.name),
                _ => format!("partition {} of {}", part.name, device.name),
            };
            say(&whose, part);
        }
        if let Some(disk) = device.partition.and_then(|p| self.get(p.disk)) {
            say(&format!("{}, the disk that {} is on,", disk.name, device.name), disk);
        }
        if let Some(behind) = device.backing_device {
            let name = self.get(behind).map_or_else(|| behind.to_string(), |d| d.name.clone());
            self.collect_uses(behind, &format!("{name}, which is behind it,"), Some(&device.name), seen, phrases);
        }
        for twin in self.twins(device) {
            self.collect_uses(twin.number, &format!("{}, another path to it,", twin.name), by, seen, phrases);
        }
    }

    /// Other nodes that lead to the same disk.
    fn twins<'a>(&'a self, device: &'a Device) -> impl Iterator<Item = &'a Device> {
        self.disks().filter(move |other| {
            device.partition.is_none()
                && other.number != device.number
                && device.wwid.is_some()
                && (&other.wwid, other.size_bytes) == (&device.wwid, device.size_bytes)
        })
    }
}
