//! The command line of the overhead benchmark.

use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;
use std::time::Duration;

use clap::{Parser, ValueEnum};

/// Measures what a gateway adds to streamed chat completions, against no gateway in the same run.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "overhead")]
pub struct Options {
    /// Seconds of each measurement: every target of every cell is measured once per round.
    #[arg(long, default_value = "1.0", value_parser = seconds)]
    pub seconds: Duration,
    /// Rounds over the targets of a cell; reported are medians over rounds.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// One short round, and no memory section: to see that all is well, not to be quoted.
    #[arg(long)]
    pub quick: bool,
    /// Leaves out the section on the growth of memory.
    #[arg(long)]
    pub no_memory: bool,
    /// Measure this running gateway instead of our own.
    #[arg(long, value_name = "URL", requires = "upstream_port")]
    pub gateway: Option<Target>,
    /// Port of the mock backend, for gateways that are configured beforehand; 0 takes a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub upstream_port: u16,
    /// Measure another running gateway beside; may be given again. Needs --upstream-port.
    #[arg(long, value_name = "NAME=URL", requires = "upstream_port")]
    pub beside: Vec<Named>,
    /// Body sizes in bytes.
    #[arg(long, value_delimiter = ',', default_values_t = [2_000, 100_000])]
    pub bodies: Vec<usize>,
    /// Numbers of concurrent clients.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 32],
        value_parser = clap::value_parser!(u16).range(1..))]
    pub clients: Vec<u16>,
    /// Milliseconds between events; 0 sends them all at once.
    #[arg(long, value_delimiter = ',', default_values_t = [0, 5])]
    pub paces: Vec<u64>,
    /// With context, without, or both; a gateway given by --gateway is measured without unless
    /// this says otherwise.
    #[arg(long)]
    pub context: Option<ContextChoice>,
}

pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "expected a number")?;
    Duration::try_from_secs_f64(number).map_err(|error| error.to_string())
}

/// The cells of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ContextChoice {
    /// Only requests that ask the gateway to stay out.
    Off,
    /// Only requests that may be given context.
    On,
    /// Both.
    Both,
}

impl Options {
    /// The values of context to measure, off first.
    pub fn contexts(&self) -> &'static [bool] {
        let choice = self.context.unwrap_or(match self.gateway {
            Some(_) => ContextChoice::Off,
            None => ContextChoice::Both,
        });
        match choice {
            ContextChoice::Off => &[false],
            ContextChoice::On => &[true],
            ContextChoice::Both => &[false, true],
        }
    }
}

/// A gateway by its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target(pub SocketAddr);

impl FromStr for Target {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        let rest = url.strip_prefix("http://").ok_or("only http:// is measured")?;
        let host = rest.strip_suffix('/').unwrap_or(rest);
        let mut addresses = host.to_socket_addrs().map_err(|error| format!("{host:?} is no HOST:PORT: {error}"))?;
        let address = addresses.next().ok_or("the host has no address")?;
        Ok(Self(address))
    }
}

/// A gateway with the name that it is reported under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Key in the report.
    pub name: String,
    /// The address on which it listens.
    pub target: Target,
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, url) = text.split_once('=').ok_or("expected NAME=URL")?;
        Ok(Self { name: name.to_owned(), target: url.parse()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Options, clap::Error> {
        Options::try_parse_from(std::iter::once(&"overhead").chain(args))
    }

    #[test]
    fn the_defaults_are_the_whole_matrix() {
        let options = parse(&[]).unwrap();
        assert_eq!(options.bodies, [2_000, 100_000]);
        assert_eq!(options.clients, [1, 32]);
        assert_eq!(options.paces, [0, 5]);
        assert_eq!(options.contexts(), [false, true]);
        assert_eq!(options.seconds, Duration::from_secs(1));
        assert!(parse(&["--seconds=-1"]).is_err());
    }

    #[test]
    fn gateways_beside_are_named() {
        let beside = "nginx=http://127.0.0.1:8080/";
        let options = parse(&["--upstream-port", "9000", "--beside", beside]).unwrap();
        assert_eq!(options.beside[0].name, "nginx");
        assert_eq!(options.beside[0].target.0.to_string(), "127.0.0.1:8080");
        assert!(parse(&["--upstream-port", "1", "--beside", "http://127.0.0.1:1"]).is_err());
        assert!(parse(&["--gateway", "https://127.0.0.1:1", "--upstream-port", "1"]).is_err());
    }

    #[test]
    fn running_gateway_is_measured_without_context() {
        let args = ["--gateway", "http://127.0.0.1:8080", "--upstream-port", "9000"];
        assert_eq!(parse(&args).unwrap().contexts(), [false]);
    }
}
