//! Load on gateways: a client and a mock backend that are small and fast, because a benchmark of the gateway also measures
//! them. The same run measures them without a gateway. Where speed does not count, fakes and clients come from
//! `muninn_tests`.

pub(crate) mod answer;
pub(crate) mod client;
pub(crate) mod events;
pub(crate) mod format;
pub(crate) mod http1;
pub(crate) mod measure;
pub(crate) mod mock;
pub(crate) mod request;
pub(crate) mod stamp;
