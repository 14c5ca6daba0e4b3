//! The user behind a TCP socket of this machine.
//!
//! Any program may connect to a loopback port or listen on one. Linux names the owner of each socket, also for sockets of
//! other users: of one connection by `sock_diag`, and of all sockets in `/proc/net/tcp`. Other systems do not, so there the
//! owner is [`SocketOwner::Unknown`].

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use memchr::{memchr, memmem, memrchr};

#[cfg(target_os = "linux")]
use super::socket_diag;

/// States of a socket in `/proc/net/tcp`.
const ESTABLISHED: &str = "01";
const LISTEN: &str = "0A";

/// The first user id of a person, if `/etc/login.defs` names none.
const DEFAULT_UID_MIN: u32 = 1000;

/// The user whose process holds a socket, relative to this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketOwner {
    /// The user of this process.
    Own,
    /// root or a system account: a user id below `UID_MIN`.
    System(u32),
    /// Another person.
    Other(u32),
    /// The system does not tell, as in a user namespace that does not map the owner.
    Unknown,
}

impl SocketOwner {
    /// The owner of the process that listens on a port of 127.0.0.1. If several sockets accept such connections, the
    /// least trusted owner counts, because it can be the one that answers.
    pub fn of_listener(port: u16) -> SocketOwner {
        let accepts = |row: &SocketRow| {
            row.state == LISTEN && row.local.port() == port && {
                let ip = row.local.ip();
                ip.is_loopback() && ip.is_ipv4() || ip.is_unspecified()
            }
        };
        let users = rows_with(port).into_iter().filter(accepts).map(|row| row.user);
        users.map(Self::of_user).max_by_key(|owner| owner.distrust()).unwrap_or(SocketOwner::Unknown)
    }

    /// Whether this system tells owners at all.
    pub const IS_TOLD: bool = cfg!(target_os = "linux");

    /// The owner of the process at the other end of a connection from this machine. `local` and `peer` are the
    /// addresses as this process sees them.
    pub fn of_peer(local: SocketAddr, peer: SocketAddr) -> SocketOwner {
        let (local, peer) = (canonical(local), canonical(peer));
        #[cfg(target_os = "linux")]
        if let Some(user) = socket_diag::user_of(peer, local) {
            return Self::of_user(user);
        }
        let is_peer = |row: &SocketRow| row.state == ESTABLISHED && row.local == peer && row.remote == local;
        let found = rows_with(peer.port()).into_iter().find(is_peer);
        found.map_or(SocketOwner::Unknown, |row| Self::of_user(row.user))
    }

    fn of_user(user: u32) -> SocketOwner {
        // The usual case needs none of the files below.
        if user == own_user() {
            return SocketOwner::Own;
        }
        let unmapped = std::fs::read_to_string("/proc/sys/kernel/overflowuid").ok();
        let unmapped = unmapped.and_then(|text| text.trim().parse().ok());
        Self::relative_to(own_user(), user, unmapped, uid_min())
    }

    /// The owner `user`, as the process of the user `own` sees it. `unmapped` stands for all users that a user namespace
    /// does not map, `first_person` is the least id of a person.
    fn relative_to(own: u32, user: u32, unmapped: Option<u32>, first_person: u32) -> SocketOwner {
        if user == own {
            SocketOwner::Own
        } else if unmapped == Some(user) {
            SocketOwner::Unknown
        } else if user < first_person {
            SocketOwner::System(user)
        } else {
            SocketOwner::Other(user)
        }
    }

    /// A number that is higher the less an owner is trusted.
    fn distrust(self) -> u8 {
        match self {
            SocketOwner::Own => 0,
            SocketOwner::System(_) => 1,
            SocketOwner::Unknown => 2,
            SocketOwner::Other(_) => 3,
        }
    }
}

impl fmt::Display for SocketOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SocketOwner::Own => write!(f, "its process belongs to you"),
            SocketOwner::System(0) => write!(f, "its process belongs to root"),
            SocketOwner::System(user) => write!(f, "its process belongs to the system account {}", named(*user)),
            SocketOwner::Other(user) => write!(f, "its process belongs to another user, {}", named(*user)),
            SocketOwner::Unknown => write!(f, "the system does not tell to whom its process belongs"),
        }
    }
}

/// A user with its name, if the local table has one.
fn named(user: u32) -> String {
    let table = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    match name_in(&table, user) {
        Some(name) => format!("{} (user id {user})", name.escape_debug()),
        None => format!("user id {user}"),
    }
}

/// The name of a user in the text of `/etc/passwd`.
fn name_in(table: &str, user: u32) -> Option<&str> {
    let mut rows = table.lines().map(|line| line.split(':'));
    rows.find_map(|mut fields| {
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(user)).then_some(name)
    })
}

#[cfg(unix)]
fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn own_user() -> u32 {
    0
}

/// The first user id of a person.
fn uid_min() -> u32 {
    let text = std::fs::read_to_string("/etc/login.defs").unwrap_or_default();
    parse_uid_min(&text).unwrap_or(DEFAULT_UID_MIN)
}

fn parse_uid_min(login_defs: &str) -> Option<u32> {
    let mut lines = login_defs.lines().map(str::split_whitespace);
    lines.find_map(|mut words| (words.next() == Some("UID_MIN")).then(|| words.next()?.parse().ok()).flatten())
}

/// A line of `/proc/net/tcp`.
#[derive(Debug, PartialEq, Eq)]
struct SocketRow {
    local: SocketAddr,
    remote: SocketAddr,
    state: String,
    user: u32,
}

/// The rows of both tables with a port at either end. The tables are read to their end: one that was cut would let a user
/// with many sockets hide one. A machine can have thousands of sockets, so only rows with the port are parsed.
fn rows_with(port: u16) -> Vec<SocketRow> {
    let port = format!(":{port:04X} ");
    let port = memmem::Finder::new(&port);
    let mut rows = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let Ok(table) = std::fs::read(table) else { continue };
        rows.extend(port.find_iter(&table).filter_map(|at| SocketRow::parse(line_at(&table, at)?)));
    }
    rows
}

/// The line that contains a byte.
fn line_at(text: &[u8], at: usize) -> Option<&str> {
    let (before, after) = text.split_at(at);
    let first = memrchr(b'\n', before).map_or(0, |end| end + 1);
    let end = memchr(b'\n', after).map_or(text.len(), |length| at + length);
    std::str::from_utf8(&text[first..end]).ok()
}

impl SocketRow {
    fn parse(line: &str) -> Option<SocketRow> {
        let mut words = line.split_whitespace().skip(1);
        let (local, remote) = (parse_address(words.next()?)?, parse_address(words.next()?)?);
        let state = words.next()?.to_owned();
        // Queues, timer and retransmissions stand between the state and the user.
        let user = words.nth(3)?.parse().ok()?;
        Some(SocketRow { local, remote, state, user })
    }
}

/// Parses `0100007F:1F90`: an address as 32-bit words in the machine's byte order, and a port.
fn parse_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| u32::from_str_radix(address.get(at..at + 8)?, 16).ok();
    let ip = match address.len() {
        8 => IpAddr::from(word(0)?.to_ne_bytes()),
        32 => {
            let mut bytes = [0; 16];
            for (part, at) in bytes.chunks_exact_mut(4).zip([0, 8, 16, 24]) {
                part.copy_from_slice(&word(at)?.to_ne_bytes());
            }
            IpAddr::from(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(canonical(SocketAddr::new(ip, port)))
}

/// An IPv4 address that is written as an IPv6 one becomes IPv4, because one end can see it so and the other not. The
/// scope of an address is dropped.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn addresses_of_both_tables_are_parsed() {
        // The kernel prints words in the machine's byte order; these are of a little-endian one.
        for (text, expected) in [
            ("0100007F:1F90", "127.0.0.1:8080"),
            ("00000000:0050", "0.0.0.0:80"),
            ("00000000000000000000000001000000:2CAA", "[::1]:11434"),
            ("0000000000000000FFFF00000100007F:2CAA", "127.0.0.1:11434"),
            ("00000000000000000000000000000000:2CAA", "[::]:11434"),
        ] {
            if cfg!(target_endian = "little") {
                assert_eq!(parse_address(text), expected.parse().ok(), "{text}");
            }
        }
        for text in ["", "0100007F", "0100007F:1F90F", "01:1F90", "é100007:1F90", "0100007G:1F90"] {
            assert_eq!(parse_address(text), None, "{text}");
        }
    }

    #[test]
    fn rows_that_are_no_sockets_are_skipped() {
        let row = "   1: 0100007F:9F4E 0100007F:01BB 01 00000000:00000000 00:00000000 00000000  1001        0 4228 1";
        assert_eq!(SocketRow::parse(row).map(|row| (row.state, row.user)), Some(("01".to_owned(), 1001)));
        for row in [
            "",
            "1:",
            "1: 0100007F:9F4E 0100007F:01BB 01",
            "1: x y 01 0:0 0:0 0 1001",
            "1: 0100007F:9F4E 0100007F:01BB 01 0:0 0:0 0 -1",
        ] {
            assert_eq!(SocketRow::parse(row), None, "{row}");
        }
    }

    #[test]
    fn least_user_id_of_a_person_is_read() {
        for (text, expected) in [
            ("UID_MIN\t\t\t  500\n", Some(500)),
            ("# UID_MIN 7\nSYS_UID_MIN 100\nUID_MIN 1000\nUID_MAX 60000\n", Some(1000)),
            ("UID_MIN\n", None),
            ("UID_MIN many\n", None),
            ("", None),
        ] {
            assert_eq!(parse_uid_min(text), expected, "{text}");
        }
    }

    #[test]
    fn owner_depends_on_the_ids_of_the_system() {
        use SocketOwner::{Other, Own, System, Unknown};
        for (own, user, unmapped, first_person, expected) in [
            (1001, 1001, Some(65534), 1000, Own),
            (1001, 0, Some(65534), 1000, System(0)),
            (1001, 997, Some(65534), 1000, System(997)),
            (1001, 1000, Some(65534), 1000, Other(1000)),
            (1001, 999, Some(65534), 500, Other(999)),
            (1001, 65534, Some(65534), 1000, Unknown),
            (1001, 65534, None, 1000, Other(65534)),
            (0, 1000, Some(65534), 1000, Other(1000)),
            (0, 0, Some(65534), 1000, Own),
            (33, 34, Some(65534), 1000, System(34)),
            // A process of a container whose users are mapped to high ids.
            (1001, 100_033, Some(65534), 1000, Other(100_033)),
            (65534, 65534, Some(65534), 1000, Own),
        ] {
            let owner = SocketOwner::relative_to(own, user, unmapped, first_person);
            assert_eq!(owner, expected, "{own} {user}");
        }
    }

    #[test]
    fn users_are_named_from_the_table() {
        let table = "root:x:0:0:root:/root:/bin/sh\nbroken\nmallory:x:1002:1002::/home/mallory:/bin/sh\n";
        for (user, expected) in [(0, Some("root")), (1002, Some("mallory")), (7, None)] {
            assert_eq!(name_in(table, user), expected, "{user}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn sockets_of_this_process_are_own() {
        for address in ["127.0.0.1:0", "0.0.0.0:0", "[::]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let port = listener.local_addr().unwrap().port();
            assert_eq!(SocketOwner::of_listener(port), SocketOwner::Own, "{address}");
            let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (accepted, peer) = listener.accept().unwrap();
            assert_eq!(SocketOwner::of_peer(accepted.local_addr().unwrap(), peer), SocketOwner::Own, "{address}");
            drop(stream);
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        assert_eq!(SocketOwner::of_listener(port), SocketOwner::Unknown, "nobody listens");
    }
}
