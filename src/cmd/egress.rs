//! What `run` and `exec` settle about the network before there is a jail.

use super::inputs;
use crate::plan::FileFact;
use crate::policy::Policy;
use crate::skill::Skill;
use crate::skill::contract::Network;
use std::path::PathBuf;

/// A bundle of certificates is at most this large (Debian's has 220 KiB).
const MAX_CA_BYTES: u64 = 4 << 20;

const PEM: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// Where distributions keep theirs.
const CA_BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The skill asks for what the policy does not have: which of both is wrong their owners must say.
#[derive(Debug, thiserror::Error)]
#[error(
    "the skill asks for the network (\"network\": \"egress\" in xray.json), and the policy {policy:?} has none\nhint: `--policy egress` or a copy of it with the skill's names in `egress.allow`"
)]
pub struct NoEgress {
    policy: String,
}

/// The run is to have certificates, and they cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CaBundleError {
    /// Those that the policy names. The operator's fault.
    #[error("`egress.ca_bundle` of the policy: {0}")]
    Named(#[source] inputs::InputsError),
    /// The host has some.
    #[error("the host's certificates: {0}\nhint: `egress.ca_bundle` of a policy names others")]
    OfHost(#[source] inputs::InputsError),
}

/// Takes the network from a run whose skill does not ask for it.
///
/// # Errors
/// The skill asks, and the policy has none. A skill without `xray.json`, which only a policy with `contract: optional` runs,
/// says nothing about it: it has what the policy allows.
pub fn settle(policy: &mut Policy, skill: &Skill) -> Result<(), NoEgress> {
    match skill.contract().map(|contract| contract.network) {
        Some(Network::None) => policy.go_offline(),
        Some(Network::Egress) if policy.egress().is_none() => {
            return Err(NoEgress { policy: policy.name().to_owned() });
        }
        Some(Network::Egress) | None => {}
    }
    Ok(())
}

/// There is no such file, or no certificate in it.
fn is_none(error: &inputs::InputsError) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound, Other};
    matches!(error, inputs::InputsError::Read { source, .. } if matches!(source.kind(), NotFound | NotADirectory | Other))
}

/// The certificates of a run with a network.
#[derive(Debug, Default)]
pub struct CaBundle(Option<(String, Vec<u8>)>);

impl CaBundle {
    /// Reads the bundle that the policy names; the first that the host has where it names none.
    pub fn read(policy: &Policy) -> Result<Self, CaBundleError> {
        let Some(egress) = policy.egress() else { return Ok(Self(None)) };
        let read = |path: PathBuf| {
            let bytes = inputs::read_bounded(&path, MAX_CA_BYTES)?;
            // What is none must not get into the jail by a slip of the policy's.
            if !bytes.windows(PEM.len()).any(|window| window == PEM) {
                return Err(inputs::InputsError::Read {
                    what: path.display().to_string(),
                    source: std::io::Error::other(
                        "no certificate in it (PEM: a line `-----BEGIN CERTIFICATE-----`)",
                    ),
                });
            }
            Ok((path.display().to_string(), bytes))
        };
        if let Some(named) = &egress.ca_bundle {
            return read(named.clone()).map(|bundle| Self(Some(bundle))).map_err(CaBundleError::Named);
        }
        for path in CA_BUNDLES {
            match read(PathBuf::from(path)) {
                Ok(bundle) => return Ok(Self(Some(bundle))),
                Err(error) if is_none(&error) => {}
                // A program that asks for https would blame the other side.
                Err(error) => return Err(CaBundleError::OfHost(error)),
            }
        }
        Ok(Self(None))
    }

    /// What the plan needs to know.
    pub fn fact(&self) -> Option<FileFact> {
        let (path, bytes) = self.0.as_ref()?;
        Some(FileFact { path: path.clone(), bytes: bytes.len() as u64 })
    }

    /// The bytes.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        self.0.as_ref().map(|(_, bytes)| bytes.clone())
    }
}
