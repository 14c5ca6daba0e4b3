//! A client of the gateway's WebSocket.

use std::net::{SocketAddr, TcpStream};

use serde_json::Value;
use tungstenite::client::IntoClientRequest;
use tungstenite::handshake::HandshakeError;
use tungstenite::{Error, Message, WebSocket};

use crate::PATIENCE;

/// A WebSocket to `/v1/responses`.
pub struct Socket(WebSocket<TcpStream>);

/// A message of the gateway.
#[derive(Debug, Clone, PartialEq)]
pub enum Received {
    /// A frame.
    Frame(Value),
    /// The end, with the code of the closing frame; 1006 if there was none.
    Closed(u16),
}

/// The answer of a gateway that opens no WebSocket.
#[derive(Debug)]
pub struct Refused {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: String,
}

impl Socket {
    /// Asks for a WebSocket.
    ///
    /// # Errors
    /// [`Refused`], with the answer.
    ///
    /// # Panics
    /// If the connection fails.
    pub fn open(address: SocketAddr, headers: &[(&str, &str)]) -> Result<Socket, Refused> {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        let mut request = format!("ws://{address}/v1/responses").into_client_request().unwrap();
        for (name, value) in headers {
            let name = tungstenite::http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            request.headers_mut().append(name, value.parse().unwrap());
        }
        match tungstenite::client(request, stream) {
            Ok((socket, _)) => Ok(Socket(socket)),
            Err(HandshakeError::Failure(Error::Http(response))) => Err(Refused {
                status: response.status().as_u16(),
                body: String::from_utf8_lossy(response.body().as_deref().unwrap_or_default()).into_owned(),
            }),
            Err(error) => panic!("no handshake: {error}"),
        }
    }

    /// Sends a frame.
    ///
    /// # Panics
    /// If the connection fails.
    pub fn send(&mut self, frame: impl Into<String>) {
        self.0.send(Message::text(frame.into())).unwrap();
    }

    /// Sends bytes as a frame.
    ///
    /// # Panics
    /// If the connection fails.
    pub fn send_binary(&mut self, bytes: &[u8]) {
        self.0.send(Message::binary(bytes.to_vec())).unwrap();
    }

    /// Waits for a frame, or the end.
    ///
    /// # Panics
    /// If a frame is no JSON.
    pub fn receive(&mut self) -> Received {
        loop {
            match self.0.read() {
                Ok(Message::Text(text)) => return Received::Frame(serde_json::from_str(&text).unwrap()),
                Ok(Message::Close(close)) => return Received::Closed(close.map_or(1005, |close| close.code.into())),
                Ok(_) => {}
                Err(_) => return Received::Closed(1006),
            }
        }
    }

    /// Waits for the frames of one response: until one of them is its last.
    ///
    /// # Panics
    /// If the connection ends before.
    pub fn response(&mut self) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let Received::Frame(frame) = self.receive() else { panic!("the connection ended after {frames:?}") };
            let kind = frame["type"].as_str().unwrap_or_default().to_owned();
            frames.push(frame);
            if matches!(&*kind, "error" | "response.completed" | "response.failed" | "response.incomplete") {
                return frames;
            }
        }
    }
}
