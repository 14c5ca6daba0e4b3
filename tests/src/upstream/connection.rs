//! One connection of the recording backend, which serves requests until either side closes it.

use std::io::{BufReader, Result, Write};
use std::net::{Shutdown, TcpStream};

use super::head::head;
use super::{Kind, Recorded, Reply, Shared};
use crate::http::{read_body, read_head};

/// Makes a connection close with a TCP reset instead of a FIN. The caller must return the error.
///
/// # Errors
/// Always, so that `?` skips the rest of an answer.
#[cfg(unix)]
pub fn reset(socket: &TcpStream) -> Result<()> {
    rustix::net::sockopt::set_socket_linger(socket, Some(std::time::Duration::ZERO))?;
    Err(std::io::ErrorKind::ConnectionReset.into())
}

/// Reads and discards data until the other side closes the connection.
///
/// # Errors
/// If the connection was reset.
pub fn until_closed(mut socket: &TcpStream) -> Result<()> {
    std::io::copy(&mut socket, &mut std::io::sink()).map(drop)
}

pub(super) fn serve(socket: TcpStream, number: usize, shared: &Shared) -> Result<()> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(shared.idle)?;
    let mut reader = BufReader::new(socket.try_clone()?);
    while let Some((line, headers)) = read_head(&mut reader)? {
        let mut words = line.split(' ').map(str::to_owned);
        let request = Recorded {
            method: words.next().unwrap_or_default(),
            target: words.next().unwrap_or_default(),
            body: read_body(&mut reader, &headers, false)?,
            headers,
            connection: number,
        };
        shared.requests.lock().push(request.clone());
        let Reply { kind, close } = (shared.responder)(&request);
        match kind {
            Kind::Whole { status, headers, body } => write_whole(&socket, &request, status, &headers, &body)?,
            Kind::Scripted(script) => script.play(&socket)?,
            Kind::Written(write) => write(&socket)?,
            Kind::Hangup => {}
        }
        if close {
            break;
        }
    }
    socket.shutdown(Shutdown::Both)
}

fn write_whole(
    mut socket: &TcpStream,
    request: &Recorded,
    status: u16,
    headers: &[(String, String)],
    body: &[u8],
) -> Result<()> {
    let mut answer = head(status, headers);
    answer.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    let mut answer = answer.into_bytes();
    if request.method != "HEAD" {
        answer.extend_from_slice(body);
    }
    socket.write_all(&answer)
}
