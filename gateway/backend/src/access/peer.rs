//! The process at the other end of a connection.

use std::net::SocketAddr;
use std::sync::OnceLock;

use crate::socket_owner::SocketOwner;

/// The peer of a client's connection: an extension of each request. Its owner is looked up once per connection, and only
/// if a decision depends on it.
///
/// A process can hand its socket to another one. The socket then still counts as that of the user who created it, who
/// could as well have forwarded the bytes.
#[derive(Debug)]
pub struct Peer {
    local: SocketAddr,
    address: SocketAddr,
    owner: OnceLock<SocketOwner>,
}

impl Peer {
    /// The peer of a connection between `local`, this process's end, and `address`.
    pub fn new(local: SocketAddr, address: SocketAddr) -> Peer {
        Peer { local, address, owner: OnceLock::new() }
    }

    /// A peer whose owner is known.
    #[cfg(any(test, feature = "fixture"))]
    pub fn owned_by(owner: SocketOwner) -> Peer {
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        Peer { owner: OnceLock::from(owner), ..Peer::new(nowhere, nowhere) }
    }

    /// The peer's address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether the peer's process belongs to the user of this process. root does not count: it can read everything, but its
    /// programs also forward the bytes of others.
    pub(super) fn is_own(&self) -> bool {
        let owner = self.owner.get_or_init(|| SocketOwner::of_peer(self.local, self.address));
        *owner == SocketOwner::Own
    }
}
