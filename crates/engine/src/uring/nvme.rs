//! NVMe as far as pass-through needs it: namespaces, commands, status codes. Names and numbers are those of the NVM
//! Express Base Specification and its NVM Command Set; the calls are Linux's (`linux/nvme_ioctl.h`).

use std::os::fd::RawFd;

/// `NVME_IOCTL_ID` and `NVME_IOCTL_ADMIN_CMD`.
const IOCTL_ID: u32 = 0x4e40;
const IOCTL_ADMIN: u32 = 0xc048_4e41;
/// `NVME_URING_CMD_IO` and its kin for a vector.
pub(super) const URING_IO: u32 = 0xc048_4e80;
pub(super) const URING_IO_VECTOR: u32 = 0xc048_4e81;

const IDENTIFY: u8 = 0x06;
const IDENTIFY_BYTES: usize = 4096;

/// Opcodes of the NVM command set.
pub(super) const FLUSH: u8 = 0x00;
pub(super) const WRITE: u8 = 0x01;
pub(super) const READ: u8 = 0x02;
pub(super) const WRITE_UNCORRECTABLE: u8 = 0x04;
pub(super) const WRITE_ZEROES: u8 = 0x08;
pub(super) const DATASET_MANAGEMENT: u8 = 0x09;
pub(super) const VERIFY: u8 = 0x0c;

/// Bits of command dword 12.
pub(super) const FORCE_UNIT_ACCESS: u32 = 1 << 30;
pub(super) const PROTECTION_ACTION: u32 = 1 << 29;
pub(super) const CHECK_GUARD: u32 = 1 << 28;
pub(super) const CHECK_APPLICATION: u32 = 1 << 27;
pub(super) const CHECK_REFERENCE: u32 = 1 << 26;
pub(super) const DEALLOCATE: u32 = 1 << 25;

/// In dword 11 of dataset management: the ranges are no longer needed.
pub(super) const NOT_NEEDED: u32 = 1 << 2;

/// `struct nvme_passthru_cmd`, and `struct nvme_uring_cmd`, whose last field is reserved.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) opcode: u8,
    pub(super) flags: u8,
    pub(super) reserved: u16,
    pub(super) namespace: u32,
    pub(super) dwords_2_3: [u32; 2],
    pub(super) metadata: u64,
    pub(super) address: u64,
    pub(super) metadata_bytes: u32,
    pub(super) bytes: u32,
    /// Dwords 10 to 15.
    pub(super) dwords: [u32; 6],
    pub(super) timeout_ms: u32,
    pub(super) result: u32,
}

const _: () = assert!(size_of::<Command>() == 72, "what the kernel takes");

impl Command {
    /// As the ring carries it.
    pub(super) fn as_bytes(&self) -> [u8; 80] {
        let mut bytes = [0; 80];
        // SAFETY: plain data without gaps, as long as said above.
        let own = unsafe { &*std::ptr::from_ref(self).cast::<[u8; 72]>() };
        bytes[..72].copy_from_slice(own);
        bytes
    }
}

/// How a namespace is formatted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Namespace {
    pub(super) id: u32,
    /// Data of a logical block, bytes.
    pub(super) data_bytes: u32,
    /// Metadata of a logical block, bytes.
    pub(super) metadata_bytes: u32,
    /// Metadata follow the data of each block in the same buffer; else they have a buffer of their own.
    pub(super) extended: bool,
    /// Type of protection information, 0 for none.
    pub(super) protection: u8,
    /// Protection information is at the beginning of the metadata, else at their end.
    pub(super) protection_first: bool,
}

impl Namespace {
    /// What stands behind a descriptor. The errno where it is no NVMe namespace or does not answer.
    pub(super) fn of(fd: RawFd) -> Result<Namespace, i32> {
        // SAFETY: an ioctl without an argument.
        let id = unsafe { libc::ioctl(fd, IOCTL_ID as _) };
        let failed = || Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO));
        if id <= 0 {
            return failed();
        }
        let mut told = vec![0u8; IDENTIFY_BYTES];
        let mut command = Command {
            opcode: IDENTIFY,
            namespace: id as u32,
            address: told.as_mut_ptr() as u64,
            bytes: IDENTIFY_BYTES as u32,
            ..Command::default()
        };
        // SAFETY: the command names a live buffer of this length.
        match unsafe { libc::ioctl(fd, IOCTL_ADMIN as _, &raw mut command) } {
            0 => Ok(Namespace::read(id as u32, &told)),
            status if status > 0 => Err(errno_of(status as u32)),
            _ => failed(),
        }
    }

    /// Of the answer to Identify Namespace.
    fn read(id: u32, told: &[u8]) -> Namespace {
        let (format, protection) = (told[26], told[29]);
        let number = usize::from(format & 0xf) | usize::from(format >> 5 & 3) << 4;
        let at = 128 + 4 * number;
        Namespace {
            id,
            data_bytes: 1u32.checked_shl(told[at + 2].into()).unwrap_or(0),
            metadata_bytes: u16::from_le_bytes([told[at], told[at + 1]]).into(),
            extended: format & 0x10 != 0,
            protection: protection & 7,
            protection_first: protection & 8 != 0,
        }
    }

    /// What a logical block takes in a buffer of data, bytes.
    pub(super) fn block_bytes(&self) -> u32 {
        self.data_bytes + if self.extended { self.metadata_bytes } else { 0 }
    }
}

/// The errno that stands for a status: type in bits 8 to 10, code in the lower eight.
pub(super) fn errno_of(status: u32) -> i32 {
    match status & 0x7ff {
        0 => 0,
        0x01 | 0x02 | 0x0b | 0x180 | 0x181 => libc::EINVAL,
        0x80 | 0x81 => libc::ENOSPC,
        0x82 | 0x1c => libc::EBUSY,
        0x182 | 0x20 => libc::EROFS,
        0x282..=0x285 => libc::EILSEQ,
        0x84 | 0x286 => libc::EACCES,
        _ => libc::EIO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_a_namespace_is_read() {
        let mut told = vec![0; IDENTIFY_BYTES];
        // Format 17 (low nibble 1, high bits 1), metadata with the data; protection of type 1, first.
        (told[26], told[29]) = (0x10 | 1 | 1 << 5, 8 | 1);
        told[128 + 4 * 17..][..3].copy_from_slice(&[8, 0, 12]);
        let found = Namespace::read(3, &told);
        let wanted = Namespace {
            id: 3,
            data_bytes: 4096,
            metadata_bytes: 8,
            extended: true,
            protection: 1,
            protection_first: true,
        };
        assert_eq!((found, found.block_bytes()), (wanted, 4104));
    }

    #[test]
    fn a_command_lies_in_the_ring_as_the_kernel_reads_it() {
        let command = Command {
            opcode: WRITE,
            namespace: 1,
            address: 0x1122_3344_5566_7788,
            bytes: 4096,
            dwords: [7, 0, 0xffff, 0, 0, 0],
            ..Command::default()
        };
        let bytes = command.as_bytes();
        assert_eq!((bytes[0], &bytes[4..8], &bytes[24..28]), (1, &[1, 0, 0, 0][..], &[0x88, 0x77, 0x66, 0x55][..]));
        assert_eq!(
            (&bytes[36..40], &bytes[40..44], &bytes[48..52]),
            (&[0, 16, 0, 0][..], &[7, 0, 0, 0][..], &[0xff, 0xff, 0, 0][..])
        );
        assert_eq!(bytes[72..], [0; 8]);
    }

    #[test]
    fn what_went_wrong_has_an_errno() {
        assert_eq!(
            [0, 0x80, 0x281, 0x284, 0x4002].map(errno_of),
            [0, libc::ENOSPC, libc::EIO, libc::EILSEQ, libc::EINVAL]
        );
    }
}
