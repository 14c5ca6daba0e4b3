//! The tensors of a file of weights, in the format safetensors: the length of the header in eight bytes, a header in JSON
//! with the type, the shape and the place of each tensor, and the tensors' bytes.
//!
//! `candle` reads such a file as a whole, which takes its size in memory twice. Here each tensor is read by itself.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use candle_core::{Device, Result, Tensor, bail};
use serde::Deserialize;

/// Maximum length of the header. That of MiniLM has 10 kB.
const LONGEST_HEADER: u64 = 1 << 20;

pub(super) struct Weights {
    file: File,
    /// The end of the header.
    start: u64,
    size: u64,
    places: HashMap<String, Place>,
}

#[derive(Deserialize)]
struct Place {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (u64, u64),
}

impl Weights {
    /// The hash of the whole file, hexadecimal.
    pub(super) fn hash(path: &Path) -> io::Result<String> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(path)?)?;
        Ok(hasher.finalize().to_hex().to_string())
    }

    /// Reads the header.
    pub(super) fn open(path: &Path) -> io::Result<Weights> {
        let mut file = File::open(path)?;
        let size = file.metadata()?.len();
        let mut length = [0; 8];
        file.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        if length > LONGEST_HEADER.min(size) {
            return Err(io::Error::other(format!("a header of {length} bytes in a file of {size}")));
        }
        let mut header = Vec::new();
        (&mut file).take(length).read_to_end(&mut header)?;
        let mut places: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&header)?;
        places.remove("__metadata__");
        let places = serde_json::from_value(places.into())?;
        Ok(Weights { file, start: 8 + length, size, places })
    }

    /// Reads a tensor of 32-bit numbers.
    pub(super) fn take(&mut self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let Some(place) = self.places.get(name) else { bail!("{name} is missing") };
        let (from, to) = place.data_offsets;
        let bytes = shape.iter().product::<usize>() as u64 * 4;
        if place.dtype != "F32" || place.shape != shape || to.checked_sub(from) != Some(bytes) {
            bail!("{name} has the type {} and the shape {:?}, not {shape:?} of F32", place.dtype, place.shape);
        }
        if self.start.checked_add(to).is_none_or(|end| end > self.size) {
            bail!("the file ends before {name}");
        }
        self.file.seek(SeekFrom::Start(self.start + from))?;
        let mut numbers = Vec::with_capacity(bytes as usize / 4);
        let mut part = vec![0; 1 << 16];
        let mut left = bytes as usize;
        while left > 0 {
            let part = &mut part[..left.min(1 << 16)];
            self.file.read_exact(part)?;
            numbers.extend(part.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])));
            left -= part.len();
        }
        Tensor::from_vec(numbers, shape, &Device::Cpu)
    }
}
