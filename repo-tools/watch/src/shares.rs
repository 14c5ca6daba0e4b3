//! File systems for which inotify reports only changes by this machine.

use std::path::Path;

use super::WatchError;

/// The magic numbers (statfs(2)) of file systems that other machines, or the host of a container, can write to.
const SHARES: [u64; 12] = [
    0x6969,      // NFS
    0x517b,      // SMB
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB 2
    0x0102_1997, // 9P
    0x6573_5546, // FUSE, also virtiofs
    0x00c3_6400, // Ceph
    0x5346_414f, // AFS
    0x6b41_4653, // AFS of the kernel
    0x786f_4256, // VirtualBox's shared folders
    0xbacb_acbc, // VMware's
    0x0bd0_0bd0, // Lustre
];

/// Returns an error if the worktree is on one of these file systems. An unknown file system is accepted.
pub(super) fn refuse(root: &Path) -> Result<(), WatchError> {
    match rustix::fs::statfs(root) {
        // The kernel's numbers have 32 bits; their type differs between machines.
        Ok(found) if SHARES.iter().any(|share| (*share ^ found.f_type as u64) & 0xffff_ffff == 0) => {
            Err(WatchError::Share { root: root.to_owned() })
        }
        _ => Ok(()),
    }
}
