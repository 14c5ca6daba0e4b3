use std::sync::Arc;

use super::super::error::StoreError;
use super::super::receipt::Receipt;

pub(crate) fn parse_receipt(id: &str, body: &str) -> Result<Receipt, StoreError> {
    serde_json::from_str(body).map_err(|source| StoreError::Receipt { id: id.to_owned(), source: Arc::new(source) })
}
