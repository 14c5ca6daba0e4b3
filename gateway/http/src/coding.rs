//! Content codings: detecting and decoding compressed bodies.
//!
//! Decoding is streamed. A decoder holds its window (at most 16 MB) and one chunk, however much the data expands to; the
//! reader limits how much of the result is kept.

use std::io;

use async_compression::tokio::bufread::{BrotliDecoder, GzipDecoder, ZlibDecoder, ZstdDecoder};
use async_compression::zstd::DParameter;
use axum::body::Body;
use futures_util::TryStreamExt;
use http::{HeaderMap, header};
use muninn_backend::FairBody;
use thiserror::Error;
use tokio::io::{AsyncBufRead, AsyncRead};
use tokio_util::io::{ReaderStream, StreamReader};

use super::headers;

/// The codings that can be decoded, as `accept-encoding` writes them.
pub(super) const SUPPORTED: &str = "gzip, deflate, br, zstd";
/// The most codings of one body that are decoded.
const MOST_CODINGS: usize = 2;
/// The bytes of a decoded chunk.
const CHUNK: usize = 16 << 10;
/// The base-2 logarithm of the largest zstd window, 8 MB as RFC 9659 allows for HTTP. A frame may ask for up to 2 GB.
const ZSTD_WINDOW_LOG: u32 = 23;

/// A coding that can be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Deflate => "deflate",
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
        }
    }

    fn of(name: &str) -> Option<Coding> {
        [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd]
            .into_iter()
            .find(|coding| coding.name().eq_ignore_ascii_case(name))
            .or_else(|| name.eq_ignore_ascii_case("x-gzip").then_some(Coding::Gzip))
    }
}

/// The value of a `content-encoding` that cannot be decoded.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub(super) struct UnknownCoding(String);

/// The codings of a body with these headers, in the order in which they were applied; empty for a plain body.
///
/// # Errors
/// [`UnknownCoding`] if one of them is unsupported, or there are too many.
pub(super) fn codings(headers: &HeaderMap) -> Result<Vec<Coding>, UnknownCoding> {
    let values = headers.get_all(header::CONTENT_ENCODING);
    let written: Vec<_> = values.iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    let written = written.join(", ");
    let codings: Option<Vec<Coding>> = written
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("identity"))
        .map(Coding::of)
        .collect();
    match codings {
        Some(codings) if codings.len() <= MOST_CODINGS => Ok(codings),
        _ => Err(UnknownCoding(written)),
    }
}

/// Decodes the body of an answer if its coding is supported. The headers then describe the decoded body.
pub(super) fn decode_answer(headers: &mut HeaderMap, body: Body) -> Body {
    match codings(headers) {
        Ok(codings) if !codings.is_empty() => {
            headers::for_converted(headers);
            decode(body, &codings)
        }
        _ => body,
    }
}

/// The decoded body. It ends with an error if the data is corrupt or truncated.
pub(super) fn decode(body: Body, codings: &[Coding]) -> Body {
    codings.iter().rev().fold(body, |body, coding| {
        // Without data there is nothing to decode: the answer to `HEAD`, or a 204.
        if http_body::Body::is_end_stream(&body) {
            return body;
        }
        let data = StreamReader::new(body.into_data_stream().map_err(io::Error::other));
        decoded(data, *coding)
    })
}

fn decoded(data: impl AsyncBufRead + Send + 'static, coding: Coding) -> Body {
    match coding {
        Coding::Gzip => {
            let mut decoder = GzipDecoder::new(data);
            decoder.multiple_members(true);
            chunks(decoder, coding)
        }
        Coding::Deflate => chunks(ZlibDecoder::new(data), coding),
        Coding::Brotli => chunks(BrotliDecoder::new(data), coding),
        Coding::Zstd => {
            let bounds = [DParameter::window_log_max(ZSTD_WINDOW_LOG)];
            let mut decoder = ZstdDecoder::with_params(data, &bounds);
            decoder.multiple_members(true);
            chunks(decoder, coding)
        }
    }
}

fn chunks(decoder: impl AsyncRead + Send + 'static, coding: Coding) -> Body {
    let chunks = ReaderStream::with_capacity(decoder, CHUNK).map_err(move |error| {
        // An error of the encoded body itself is passed through.
        let is_body_error = error.get_ref().is_some_and(|inner| inner.is::<axum::Error>());
        if is_body_error {
            error
        } else {
            io::Error::other(format!("its {} data is corrupt or truncated: {error}", coding.name()))
        }
    });
    Body::new(FairBody::new(Body::from_stream(chunks)))
}

#[cfg(test)]
pub(super) mod tests {
    use async_compression::tokio::write::{BrotliEncoder, GzipEncoder, ZlibEncoder, ZstdEncoder};
    use bytes::Bytes;
    use futures_util::stream;
    use http::HeaderValue;
    use http_body_util::BodyExt;
    use tokio::io::AsyncWriteExt;

    use super::*;

    const ALL: [Coding; 4] = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd];

    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(future)
    }

    async fn encoded(coding: Coding, data: &[u8]) -> Vec<u8> {
        macro_rules! encode {
            ($encoder:expr) => {{
                let mut encoder = $encoder;
                encoder.write_all(data).await.unwrap();
                encoder.shutdown().await.unwrap();
                encoder.into_inner()
            }};
        }
        match coding {
            Coding::Gzip => encode!(GzipEncoder::new(Vec::new())),
            Coding::Deflate => encode!(ZlibEncoder::new(Vec::new())),
            Coding::Brotli => encode!(BrotliEncoder::new(Vec::new())),
            Coding::Zstd => encode!(ZstdEncoder::new(Vec::new())),
        }
    }

    fn in_pieces(data: &[u8], size: usize) -> Body {
        let pieces: Vec<_> = data.chunks(size).map(Bytes::copy_from_slice).collect();
        Body::from_stream(stream::iter(pieces.into_iter().map(Ok::<_, io::Error>)))
    }

    #[test]
    fn every_coding_is_decoded_from_any_chunks() {
        let text = "data: {\"usage\":{}}\n\n".repeat(5_000);
        run(async {
            for coding in ALL {
                let data = encoded(coding, text.as_bytes()).await;
                for size in [1, 7, data.len()] {
                    let body = decode(in_pieces(&data, size), &[coding]);
                    let read = body.collect().await.unwrap().to_bytes();
                    assert_eq!(read, text.as_bytes(), "{coding:?}");
                }
            }
            let twice = encoded(Coding::Brotli, &encoded(Coding::Gzip, text.as_bytes()).await).await;
            let body = decode(in_pieces(&twice, 100), &[Coding::Gzip, Coding::Brotli]);
            assert_eq!(body.collect().await.unwrap().to_bytes(), text.as_bytes());
        });
    }

    #[test]
    fn corrupt_or_truncated_data_is_an_error_with_the_coding() {
        let text = "some words that are not the same all the time 0123456789".repeat(20);
        run(async {
            for coding in ALL {
                let data = encoded(coding, text.as_bytes()).await;
                let noise = b"no compressed data at all, and long enough to be sure".to_vec();
                for broken in [data[..data.len() / 2].to_vec(), data[..data.len() - 1].to_vec(), noise] {
                    let body = decode(in_pieces(&broken, 10), &[coding]);
                    let error = body.collect().await.unwrap_err().to_string();
                    assert!(error.contains(coding.name()), "{coding:?}: {error}");
                }
            }
        });
    }

    #[test]
    fn body_error_is_passed_through() {
        run(async {
            let data = encoded(Coding::Gzip, b"words").await;
            let pieces = [Ok(Bytes::copy_from_slice(&data[..5])), Err(io::Error::other("backend idle"))];
            let body = decode(Body::from_stream(stream::iter(pieces)), &[Coding::Gzip]);
            assert_eq!(body.collect().await.unwrap_err().to_string(), "backend idle");
        });
    }

    #[test]
    fn decompression_bomb_is_decoded_in_small_chunks() {
        run(async {
            for coding in ALL {
                let bomb = encoded(coding, &vec![0; 4 << 20]).await;
                assert!(bomb.len() < 64 << 10, "{coding:?}: {}", bomb.len());
                let mut body = decode(Body::from(bomb), &[coding]);
                let mut read = 0;
                while let Some(frame) = body.frame().await {
                    let data = frame.unwrap().into_data().unwrap();
                    assert!(data.len() <= CHUNK);
                    read += data.len();
                }
                assert_eq!(read, 4 << 20);
            }
        });
    }

    #[test]
    fn content_encoding_is_parsed_as_a_list() {
        let of = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::CONTENT_ENCODING, HeaderValue::from_static(value));
            }
            codings(&headers)
        };
        assert_eq!(of(&[]), Ok(vec![]));
        assert_eq!(of(&["identity"]), Ok(vec![]));
        assert_eq!(of(&["X-GZip"]), Ok(vec![Coding::Gzip]));
        assert_eq!(of(&["gzip, br"]), Ok(vec![Coding::Gzip, Coding::Brotli]));
        assert_eq!(of(&["deflate", "zstd"]), Ok(vec![Coding::Deflate, Coding::Zstd]));
        assert_eq!(of(&["compress"]), Err(UnknownCoding("compress".to_owned())));
        assert_eq!(of(&["gzip, gzip, gzip"]), Err(UnknownCoding("gzip, gzip, gzip".to_owned())));
    }
}
