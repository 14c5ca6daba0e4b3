//! The user of one connection, by `sock_diag(7)`: the kernel looks the connection up in its table. Reading
//! `/proc/net/tcp` takes milliseconds, because it visits the whole table.

use std::net::{IpAddr, SocketAddr};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};

/// `SOCK_DIAG_BY_FAMILY`, the type of requests and answers.
const BY_FAMILY: u16 = 20;
const IS_REQUEST: u16 = 1;
const TCP: u8 = 6;
const ESTABLISHED: u8 = 1;
/// The bytes of `nlmsghdr` and `inet_diag_req_v2`.
const REQUEST: usize = 72;
/// Where an answer has its state, the id of the socket, and its user (`nlmsghdr`, then `inet_diag_msg`).
const STATE: usize = 17;
const ID: usize = 20;
const USER: usize = 80;
/// The bytes of the ports and addresses of an id.
const ENDS: usize = 36;

/// The user of the socket of this machine with the address `own`, which is connected to `remote`. `None` if the kernel does
/// not know it, or does not answer such requests.
pub(super) fn user_of(own: SocketAddr, remote: SocketAddr) -> Option<u32> {
    let ends = ends(own, remote)?;
    let family = if own.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let kind = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, kind, Some(netlink::SOCK_DIAG)).ok()?;
    let mut request = Vec::with_capacity(REQUEST);
    request.extend((REQUEST as u32).to_ne_bytes());
    request.extend([BY_FAMILY, IS_REQUEST].map(u16::to_ne_bytes).concat());
    // Sequence number and sender; the kernel fills the latter in.
    request.extend([0; 8]);
    request.extend([family.as_raw() as u8, TCP, 0, 0]);
    request.extend(u32::MAX.to_ne_bytes());
    request.extend(ends);
    // Any interface, and no cookie.
    request.extend([0; 4]);
    request.extend([u8::MAX; 8]);
    send(&socket, &request, SendFlags::empty()).ok()?;
    let mut answer = [0; 256];
    let (read, _) = recv(&socket, &mut answer, RecvFlags::DONTWAIT).ok()?;
    let answer = answer.get(..read)?;
    let user = answer.get(USER..USER + 4)?;
    // Without such a connection the kernel tells of a socket that listens at the address.
    let is_it =
        answer[4..6] == BY_FAMILY.to_ne_bytes() && answer[STATE] == ESTABLISHED && answer[ID..ID + ENDS] == ends;
    is_it.then(|| u32::from_ne_bytes([user[0], user[1], user[2], user[3]]))
}

/// Both ends of a connection as `inet_diag_sockid` has them: ports, then addresses of 16 bytes. `None` for ends of two families.
fn ends(own: SocketAddr, remote: SocketAddr) -> Option<[u8; ENDS]> {
    let mut ends = [0; ENDS];
    for (number, address) in [own, remote].into_iter().enumerate() {
        ends[number * 2..][..2].copy_from_slice(&address.port().to_be_bytes());
        let at = 4 + number * 16;
        match address.ip() {
            IpAddr::V4(ip) => ends[at..at + 4].copy_from_slice(&ip.octets()),
            IpAddr::V6(ip) => ends[at..at + 16].copy_from_slice(&ip.octets()),
        }
    }
    (own.is_ipv4() == remote.is_ipv4()).then_some(ends)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_kernel_tells_the_user_of_a_connection_and_of_no_other_socket() {
        let own = rustix::process::geteuid().as_raw();
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let at = listener.local_addr().unwrap();
            let stream = TcpStream::connect(at).unwrap();
            let peer = stream.local_addr().unwrap();
            assert_eq!(user_of(peer, at), Some(own), "{address}");
            let _accepted = listener.accept().unwrap();
            assert_eq!(user_of(at, peer), Some(own));
            let other = SocketAddr::new(peer.ip(), if peer.port() == 1 { 2 } else { 1 });
            assert_eq!(user_of(other, at), None, "nobody");
            assert_eq!(user_of(at, other), None, "the socket that listens is not the connection");
        }
        assert_eq!(user_of("127.0.0.1:1".parse().unwrap(), "[::1]:1".parse().unwrap()), None);
    }
}
