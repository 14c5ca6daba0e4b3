//! Compares the model with the reference implementation on 100 texts.
//!
//! `memory/training/reference.py` wrote the vectors as 16-bit integers. The rounding changes a cosine by less than a
//! millionth.

use super::*;

/// The environment variable with the model's directory. If it is not set, the test that needs the model prints that it
/// is skipped.
const MODEL: &str = "MUNINN_TEST_MINILM";

const TEXTS: &str = include_str!("../reference.json");
const VECTORS: &[u8] = include_bytes!("../reference.bin");

fn reference() -> (Vec<String>, Vec<Vec<f32>>) {
    let texts: Vec<String> = serde_json::from_str(TEXTS).unwrap();
    let numbers: Vec<f32> =
        VECTORS.chunks_exact(2).map(|two| f32::from(i16::from_le_bytes([two[0], two[1]])) / 32767.0).collect();
    let vectors = numbers.chunks(numbers.len() / texts.len()).map(<[f32]>::to_vec).collect();
    (texts, vectors)
}

/// The directory with the model, if the machine has it.
fn weights() -> Option<PathBuf> {
    let directory = std::env::var_os(MODEL).map(PathBuf::from);
    if directory.is_none() {
        eprintln!("skipped: {MODEL} names no directory with the model (`muninn model pull` fetches it)");
    }
    directory
}

#[test]
fn a_hundred_texts_have_the_vectors_of_the_reference_implementation() {
    let Some(directory) = weights() else { return };
    let model = MiniLm::open(&directory, Supervisor::default()).unwrap();
    let (texts, expected) = reference();
    assert_eq!((texts.len(), model.dimensions()), (100, 384));
    let given: Vec<&str> = texts.iter().map(String::as_str).collect();
    let found = model.embed(&given).unwrap();
    let mut worst = 1f32;
    // In a text, the names of special pieces are text. The reference takes them for those pieces.
    let same = |text: &&String| !text.contains("[CLS]");
    assert_eq!(texts.iter().filter(same).count(), 99);
    for ((text, found), expected) in texts.iter().zip(&found).zip(&expected).filter(|((text, _), _)| same(text)) {
        let cosine: f32 = found.iter().zip(expected).map(|(a, b)| a * b).sum();
        assert!(cosine > 0.999, "{cosine} for {text:?}");
        worst = worst.min(cosine);
    }
    eprintln!("the worst cosine of 100 texts is {worst:.6}, with {}", model.id());
}

#[test]
fn idle_model_leaves_the_memory_and_other_weights_are_refused_later() {
    let Some(directory) = weights() else { return };
    let copy = tempfile::tempdir().unwrap();
    for name in MINILM_FILES {
        std::fs::copy(directory.join(name), copy.path().join(name)).unwrap();
    }
    let model = MiniLm::open(copy.path(), Supervisor::default()).unwrap();
    let before = model.embed_question("which port").unwrap();
    assert!(release(&model.loaded, IDLE).is_some(), "it was just used");
    assert!(release(&model.loaded, Duration::ZERO).is_none() && model.loaded.lock().is_none());
    assert_eq!(model.embed_question("which port").unwrap(), before);
    release(&model.loaded, Duration::ZERO);
    let path = copy.path().join("model.safetensors");
    let mut weights = std::fs::read(&path).unwrap();
    let last = weights.len() - 1;
    weights[last] ^= 1;
    std::fs::write(&path, &weights).unwrap();
    assert!(model.embed_question("which port").unwrap_err().to_string().contains("the weights are now those of"));
    weights.truncate(last / 2);
    std::fs::write(&path, &weights).unwrap();
    assert!(model.embed_question("which port").unwrap_err().to_string().contains("the file ends before"));
    std::fs::remove_file(&path).unwrap();
    assert!(model.embed_question("which port").unwrap_err().to_string().contains("cannot read"));
}

#[test]
fn the_reference_is_unit_vectors_of_texts_that_differ() {
    let (texts, vectors) = reference();
    assert_eq!(vectors.len(), texts.len());
    for vector in &vectors {
        let length: f32 = vector.iter().map(|value| value * value).sum();
        assert!((length - 1.0).abs() < 1e-3, "{length}");
    }
    assert!(texts.iter().any(|text| text.len() > 4000), "no text is longer than 256 tokens");
}

#[test]
fn what_is_no_model_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |directory: &Path| MiniLm::open(directory, Supervisor::default()).err().unwrap().to_string();
    assert!(refused(directory.path()).contains("config.json"));
    for name in MINILM_FILES {
        std::fs::write(directory.path().join(name), "{}").unwrap();
    }
    assert!(refused(directory.path()).contains("config.json is no usable model: missing field"));
}

#[test]
fn batches_hold_as_many_texts_as_fit() {
    let lengths = |lengths: &[usize]| lengths.iter().map(|length| vec![0; *length]).collect::<Vec<_>>();
    for (given, expected) in [
        (lengths(&[10, 20, 30]), 3),
        (lengths(&[BATCH_TOKENS / 2, BATCH_TOKENS / 2, BATCH_TOKENS / 2]), 2),
        (lengths(&[BATCH_TOKENS * 2, BATCH_TOKENS * 2]), 1),
    ] {
        let order: Vec<usize> = (0..given.len()).collect();
        assert_eq!(batch_size(&order, &given), expected);
    }
}
